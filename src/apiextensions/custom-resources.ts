import type { CustomResourceDefinition } from '../api/apiextensions/v1/types.generated.ts'
import { isNotFound } from '../apimachinery/errors.ts'
import type { KubeObject } from '../apimachinery/object.ts'
import { formatTime } from '../apimachinery/time.ts'
import { ResourceStore } from '../apiserver/registry/resource-store.ts'
import type { SubresourceStrategy } from '../apiserver/registry/strategy.ts'
import { RequestStrategyContext } from '../apiserver/registry/strategy-context.ts'
import type { WriteScope } from '../apiserver/registry/write.ts'
import type { ApiServer } from '../apiserver/server.ts'
import type { Clock, Timer } from '../base/clock.ts'
import { deepCopy, deepEqual } from '../base/deep-freeze.ts'
import type { Logger } from '../component-base/component.ts'
import { createCacher } from '../storage/cacher/cacher.ts'
import type { ObjectStorage, StorageWatch } from '../storage/interface.ts'
import type { KV } from '../storage/kv/kv.ts'
import { customEndpoint, customInfo, customRegistration, type RuleValidator, storageVersionOf } from './custom-kind.ts'
import { CLEANUP_FINALIZER, definitionKind } from './definition-strategy.ts'
import { conditionOf, judgeNames, withCondition } from './names.ts'

type Definition = CustomResourceDefinition & KubeObject

export interface CustomResourcesOptions {
  readonly server: ApiServer
  readonly kv: KV
  readonly clock: Clock
  readonly log: Logger
  readonly validateRules?: RuleValidator
}

/** A store that could not be read is tried again after this long, ms. */
const RESTART_DELAY = 500

/** Instances that still hold finalizers are looked at again this often, ms. */
const CLEANUP_RETRY = 100

interface Served {
  definition: Definition
  storage: ObjectStorage
  store: ResourceStore
  versions: string[]
}

/**
 * Serves custom resources: follows the definitions, judges their names, adds and removes endpoints, and cleans up after a
 * definition that goes away. One reconcile runs at a time.
 */
export class CustomResources {
  private readonly options: CustomResourcesOptions
  private readonly definitions: ResourceStore
  private readonly known = new Map<string, Definition>()
  private readonly served = new Map<string, Served>()
  private readonly retries = new Map<string, Timer>()
  private readonly queue = new Set<string>()
  private watch: StorageWatch | undefined
  private restart: Timer | undefined
  private running = false
  private stopped = false

  constructor(options: CustomResourcesOptions) {
    this.options = options
    const store = options.server.store('apiextensions.k8s.io', 'customresourcedefinitions')
    if (!store) throw new Error('customresourcedefinitions are not served')
    this.definitions = store
  }

  /** Serves what is defined already, then follows changes until `stop`. */
  async start(): Promise<void> {
    const list = await this.definitions.storage.list({})
    if (this.stopped) return
    const there = new Set(list.items.map((item) => (item.object as Definition).metadata.name))
    for (const [name, definition] of this.known) if (!there.has(name)) this.forget(definition)
    for (const item of list.items) this.see(item.object as Definition)
    await this.drain()
    this.follow(list.resourceVersion)
  }

  /** The store was gone: what is served stays until it is back. */
  private startAgain(): void {
    if (this.stopped) return
    this.restart = this.options.clock.setTimeout(() => {
      this.start().catch(() => this.startAgain())
    }, RESTART_DELAY)
  }

  stop(): void {
    this.stopped = true
    this.restart?.cancel()
    this.watch?.stop()
    for (const timer of this.retries.values()) timer.cancel()
    for (const name of [...this.served.keys()]) this.withdraw(name)
  }

  private follow(resourceVersion: number): void {
    let last = resourceVersion
    this.watch = this.definitions.storage.watch({
      resourceVersion,
      onEvents: (events) => {
        for (const event of events) {
          if (event.type === 'BOOKMARK') {
            last = event.resourceVersion
            continue
          }
          last = event.object.resourceVersion
          if (event.type === 'DELETED') this.forget(event.object.object as Definition)
          else this.see(event.object.object as Definition)
        }
        void this.drain()
      },
      onClose: (error) => {
        if (this.stopped) return
        if (error) this.startAgain()
        else this.follow(last)
      },
    })
  }

  private see(definition: Definition): void {
    const name = definition.metadata.name as string
    this.known.set(name, definition)
    this.queue.add(name)
  }

  private forget(definition: Definition): void {
    const name = definition.metadata.name as string
    this.known.delete(name)
    this.withdraw(name)
    // Names it held may be free for others now.
    for (const [other, d] of this.known) if (d.spec.group === definition.spec.group) this.queue.add(other)
  }

  private async drain(): Promise<void> {
    if (this.running) return
    this.running = true
    try {
      while (this.queue.size > 0 && !this.stopped) {
        const key = this.queue.values().next().value as string
        this.queue.delete(key)
        const definition = this.known.get(key)
        if (!definition) continue
        try {
          await this.reconcile(key, definition)
        } catch (error) {
          if (isNotFound(error)) continue
          this.options.log.error('custom resource definition', { name: key, error: error instanceof Error ? error.message : String(error) })
          this.retry(key)
        }
      }
    } finally {
      this.running = false
    }
  }

  private retry(name: string): void {
    if (this.retries.has(name) || this.stopped) return
    this.retries.set(
      name,
      this.options.clock.setTimeout(() => {
        this.retries.delete(name)
        this.queue.add(name)
        void this.drain()
      }, CLEANUP_RETRY),
    )
  }

  private async reconcile(name: string, definition: Definition): Promise<void> {
    const verdict = judgeNames(definition, [...this.known.values()])
    const time = formatTime(this.options.clock.now())
    let conditions = withCondition(definition.status?.conditions, verdict.namesAccepted, time)
    conditions = withCondition(conditions, verdict.established, time)
    const status = { ...definition.status, conditions, acceptedNames: verdict.acceptedNames } as NonNullable<Definition['status']>
    let current = definition
    if (!deepEqual(status, definition.status)) {
      current = await this.writeStatus(name, (old) => ({ ...old.status, conditions, acceptedNames: verdict.acceptedNames }) as never)
      const before = deepEqual(definition.status?.acceptedNames, verdict.acceptedNames)
      this.known.set(name, current)
      if (!before) for (const [other, d] of this.known) if (other !== name && d.spec.group === current.spec.group) this.queue.add(other)
    }
    if (conditionOf(current, 'Established')?.status === 'True') this.serve(name, current)
    else this.withdraw(name)
    if (current.metadata.deletionTimestamp && current.metadata.finalizers?.includes(CLEANUP_FINALIZER)) await this.cleanUp(name, current)
  }

  private serve(name: string, definition: Definition): void {
    const before = this.served.get(name)
    if (
      before &&
      before.definition.metadata.generation === definition.metadata.generation &&
      deepEqual(before.definition.status?.acceptedNames, definition.status?.acceptedNames)
    ) {
      before.definition = definition
      return
    }
    const { server, kv, clock, validateRules } = this.options
    const storageVersion = storageVersionOf(definition)
    if (!storageVersion) return
    const info = customInfo(server.scheme, definition, storageVersion)
    const storage = before?.storage ?? createCacher(kv, { prefix: info.etcdPrefix as string, clock })
    const registration = customRegistration({
      scheme: server.scheme,
      definition,
      isTerminating: () => this.known.get(name)?.metadata.deletionTimestamp !== undefined,
      ...(validateRules ? { validateRules } : {}),
    })
    const store = new ResourceStore({ info, storage, strategy: registration.strategy, environment: server.environment, standardFinalizers: false })
    const versions = definition.spec.versions.filter((v) => v.served)
    for (const version of before?.versions ?? []) {
      if (!versions.some((v) => v.name === version)) server.endpoints.remove(definition.spec.group, version, info.resource)
    }
    for (const version of versions) server.endpoints.add(customEndpoint(server.scheme, definition, version, store, registration))
    this.served.set(name, { definition, storage, store, versions: versions.map((v) => v.name) })
  }

  private withdraw(name: string): void {
    const served = this.served.get(name)
    if (!served) return
    this.served.delete(name)
    for (const version of served.versions) this.options.server.endpoints.remove(served.definition.spec.group, version, served.store.info.resource)
    served.storage.close?.()
  }

  /** Deletes all instances; the finalizer goes when none is left. */
  private async cleanUp(name: string, definition: Definition): Promise<void> {
    const served = this.served.get(name)
    const scope = this.scope('delete')
    if (served) {
      const terminating = conditionOf(definition, 'Terminating')
      if (terminating?.reason !== 'InstanceDeletionInProgress') {
        await this.writeStatus(name, (old) => ({
          ...(old.status as NonNullable<Definition['status']>),
          conditions: withCondition(
            old.status?.conditions,
            { type: 'Terminating', status: 'True', reason: 'InstanceDeletionInProgress', message: 'CustomResource deletion is in progress' },
            formatTime(this.options.clock.now()),
          ),
        }))
      }
      const { items } = await served.storage.list({})
      for (const { object } of items) {
        if (object.metadata.deletionTimestamp) continue
        await served.store.delete(scope, object.metadata.namespace ?? '', object.metadata.name as string, {}).catch((error) => {
          if (!isNotFound(error)) throw error
        })
      }
      const left = await served.storage.list({})
      if (left.items.length > 0) {
        this.retry(name)
        return
      }
    }
    await this.definitions.update(this.scope('update'), '', name, {
      transform: (old) => {
        if (!old) throw new Error('gone')
        const copy = deepCopy(old) as Definition
        const rest = (copy.metadata.finalizers ?? []).filter((f) => f !== CLEANUP_FINALIZER)
        if (rest.length > 0) copy.metadata.finalizers = rest
        else delete copy.metadata.finalizers
        return copy
      },
      subresource: UNCHECKED,
      noCreate: true,
    })
  }

  private async writeStatus(name: string, status: (old: Definition) => NonNullable<Definition['status']>): Promise<Definition> {
    const endpoint = this.options.server.endpoints.find('apiextensions.k8s.io', 'v1', 'customresourcedefinitions')
    const written = await this.definitions.update(this.scope('update'), '', name, {
      transform: (old) => {
        const copy = deepCopy(old) as Definition
        copy.status = deepCopy(status(old as Definition))
        return endpoint ? this.options.server.environment.managedFields.update(endpoint, old, copy, 'kube-apiserver', 'status') : copy
      },
      subresource: definitionKind.status as SubresourceStrategy,
      noCreate: true,
    })
    return written.object as Definition
  }

  private scope(verb: string): WriteScope {
    const { environment } = this.options.server
    return {
      context: new RequestStrategyContext(environment, undefined, '', false),
      dryRun: false,
      meta: { user: 'system:apiserver', userAgent: 'kube-apiserver', verb },
      warn() {},
    }
  }
}

/** Takes the object as it is. */
const UNCHECKED: SubresourceStrategy = { prepareForUpdate() {} }
