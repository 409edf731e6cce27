import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../api/core/v1/types.generated.ts'
import { resources } from '../../api/handles.generated.ts'
import type { StorageClass } from '../../api/storage/v1/types.generated.ts'
import { isNotFound } from '../../apimachinery/errors.ts'
import { objectKey } from '../../apimachinery/object.ts'
import { quote } from '../../apimachinery/quote.ts'
import { formatTime } from '../../apimachinery/time.ts'
import { deepCopy } from '../../base/index.ts'
import { type EventRecorder, type EventType, type Informer, referenceTo } from '../../client/index.ts'
import { migratedDriver } from '../../component-helpers/csi-migration.ts'
import {
  BIND_COMPLETED,
  BOUND_BY_CONTROLLER,
  claimNameOf,
  classOfClaim,
  findVolume,
  isVolumeOf,
  misfit,
  modeOf,
  SELECTED_NODE,
  waitsForConsumer,
} from '../../component-helpers/volume-matching.ts'
import { Controller, type ControllerContext } from '../../controller-runtime/index.ts'

const PROVISIONER = 'volume.kubernetes.io/storage-provisioner'
const BETA_PROVISIONER = 'volume.beta.kubernetes.io/storage-provisioner'
const DEFAULT_CLASS = 'storageclass.kubernetes.io/is-default-class'
/** Provisioners of this group were built in; those that are no CSI driver's today exist no more. */
const BUILT_IN = 'kubernetes.io/'
const RESYNC_MS = 15_000

/** Binds claims to volumes, and keeps the phases of both. */
export class VolumeBinder {
  private readonly context: ControllerContext
  private readonly claims: Informer<PersistentVolumeClaim>
  private readonly volumes: Informer<PersistentVolume>
  private readonly classes: Informer<StorageClass>
  private readonly pods: Informer<Pod>
  private readonly recorder: EventRecorder
  private readonly claimController: Controller
  private readonly volumeController: Controller

  constructor(context: ControllerContext) {
    this.context = context
    const { informers } = context
    this.claims = informers.informer(resources.corev1.persistentvolumeclaims)
    this.volumes = informers.informer(resources.corev1.persistentvolumes)
    this.classes = informers.informer(resources.storagev1.storageclasses)
    this.pods = informers.informer(resources.corev1.pods)
    this.recorder = context.events.recorder('persistentvolume-controller')
    const all = [this.claims, this.volumes, this.classes, this.pods]
    // One worker each: two claims must not take one volume.
    this.claimController = new Controller(context, {
      name: 'persistentvolume-binder-claims',
      workers: 1,
      informers: all,
      reconcile: (key) => this.syncClaim(key),
    })
    this.volumeController = new Controller(context, {
      name: 'persistentvolume-binder-volumes',
      workers: 1,
      informers: all,
      reconcile: (key) => this.syncVolume(key),
    })
    const claimChanged = (claim: PersistentVolumeClaim) => {
      this.claimController.queue.add(objectKey(claim))
      for (const v of this.volumes.lister.list()) if (v.spec.claimRef?.uid === claim.metadata.uid) this.volumeController.queue.add(v.metadata.name ?? '')
      if (claim.spec.volumeName) this.volumeController.queue.add(claim.spec.volumeName)
    }
    this.claims.addHandler({ onAdd: claimChanged, onUpdate: (_, c) => claimChanged(c), onDelete: claimChanged })
    const volumeChanged = (volume: PersistentVolume) => {
      this.volumeController.queue.add(volume.metadata.name ?? '')
      const ref = volume.spec.claimRef
      if (ref) this.claimController.queue.add(`${ref.namespace}/${ref.name}`)
    }
    this.volumes.addHandler({ onAdd: volumeChanged, onUpdate: (_, v) => volumeChanged(v), onDelete: volumeChanged })
  }

  async run(): Promise<void> {
    const { signal, clock } = this.context
    const resync = async () => {
      while (!signal.aborted) {
        await clock.sleep(RESYNC_MS, signal).catch(() => {})
        if (signal.aborted) return
        for (const c of this.claims.lister.list()) if (c.status?.phase !== 'Bound') this.claimController.queue.add(objectKey(c))
        for (const v of this.volumes.lister.list()) if (v.status?.phase !== 'Bound') this.volumeController.queue.add(v.metadata.name ?? '')
      }
    }
    await Promise.all([this.claimController.run(), this.volumeController.run(), resync()])
  }

  private claimEvent(claim: PersistentVolumeClaim, type: EventType, reason: string, message: string): void {
    this.recorder.event(referenceTo(resources.corev1.persistentvolumeclaims, claim), type, reason, message)
  }

  private claimClient(claim: PersistentVolumeClaim) {
    return this.context.client.resource(resources.corev1.persistentvolumeclaims).namespace(claim.metadata.namespace)
  }

  private async syncClaim(key: string): Promise<void> {
    const claim = this.claims.lister.get(key)
    if (!claim) return
    if (claim.metadata.annotations?.[BIND_COMPLETED] !== undefined) await this.syncBoundClaim(claim)
    else await this.syncUnboundClaim(claim)
  }

  private async syncBoundClaim(claim: PersistentVolumeClaim): Promise<void> {
    const name = claim.spec.volumeName
    if (!name) return this.lose(claim, 'ClaimLost', 'Bound claim has lost reference to PersistentVolume. Data on the volume is lost!')
    const volume = this.volumes.lister.get(name)
    if (!volume) return this.lose(claim, 'ClaimLost', 'Bound claim has lost its PersistentVolume. Data on the volume is lost!')
    if (!volume.spec.claimRef || volume.spec.claimRef.uid === claim.metadata.uid) return this.bind(volume, claim)
    return this.lose(claim, 'ClaimMisbound', 'Two claims are bound to the same volume, this one is bound incorrectly')
  }

  private async lose(claim: PersistentVolumeClaim, reason: string, message: string): Promise<void> {
    if (claim.status?.phase === 'Lost') return
    await this.claimClient(claim).updateStatus({ ...deepCopy(claim), status: { phase: 'Lost' } })
    this.claimEvent(claim, 'Warning', reason, message)
  }

  private async syncUnboundClaim(claim: PersistentVolumeClaim): Promise<void> {
    if (claim.spec.volumeName) return this.syncNamedVolume(claim, claim.spec.volumeName)
    const className = classOfClaim(claim)
    const storageClass = this.classes.lister.get(className)
    const delayed = waitsForConsumer(storageClass) && !claim.metadata.annotations?.[SELECTED_NODE]
    const volume = findVolume(this.volumes.lister.list(), claim, { delayed })
    if (volume) {
      await this.bind(volume, claim)
      return
    }
    if (delayed) this.tellWaiting(claim)
    else if (className === '') {
      const fallback = claim.spec.storageClassName === undefined ? this.defaultClass() : undefined
      if (fallback) {
        await this.claimClient(claim).update({ ...deepCopy(claim), spec: { ...deepCopy(claim.spec), storageClassName: fallback.metadata.name ?? '' } })
        return
      }
      this.claimEvent(claim, 'Normal', 'FailedBinding', 'no persistent volumes available for this claim and no storage class is set')
    } else if (!storageClass) {
      this.claimEvent(claim, 'Warning', 'ProvisioningFailed', `storageclass.storage.k8s.io ${quote(className)} not found`)
      return
    } else {
      const { provisioner } = storageClass
      const driver = migratedDriver(provisioner)
      if (!driver && provisioner.startsWith(BUILT_IN)) {
        this.claimEvent(claim, 'Warning', 'ProvisioningFailed', `no volume plugin matched name: ${provisioner}`)
        return
      }
      await this.askProvisioner(claim, driver ?? provisioner)
    }
    await this.setPending(claim)
  }

  private defaultClass(): StorageClass | undefined {
    const marked = this.classes.lister.list().filter((c) => c.metadata.annotations?.[DEFAULT_CLASS] === 'true')
    return marked.sort((a, b) => ((a.metadata.creationTimestamp ?? '') < (b.metadata.creationTimestamp ?? '') ? 1 : -1))[0]
  }

  private tellWaiting(claim: PersistentVolumeClaim): void {
    const users = this.pods.lister
      .inNamespace(claim.metadata.namespace)
      .filter((p) => !p.spec.nodeName && p.spec.volumes?.some((v) => claimNameOf(p, v) === claim.metadata.name))
      .map((p) => p.metadata.name ?? '')
      .sort()
    if (users.length === 0) this.claimEvent(claim, 'Normal', 'WaitForFirstConsumer', 'waiting for first consumer to be created before binding')
    else {
      const message = users.length === 1 ? `waiting for pod ${users[0]} to be scheduled` : `waiting for pods ${users.join(',')} to be scheduled`
      this.claimEvent(claim, 'Normal', 'WaitForPodScheduled', message)
    }
  }

  private async askProvisioner(claim: PersistentVolumeClaim, provisioner: string): Promise<void> {
    const annotations = claim.metadata.annotations ?? {}
    if (annotations[PROVISIONER] !== provisioner || annotations[BETA_PROVISIONER] !== provisioner) {
      const copy = deepCopy(claim)
      copy.metadata.annotations = { ...annotations, [PROVISIONER]: provisioner, [BETA_PROVISIONER]: provisioner }
      await this.claimClient(claim).update(copy)
    }
    const message = `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`
    this.claimEvent(claim, 'Normal', 'ExternalProvisioning', message)
  }

  private async setPending(claim: PersistentVolumeClaim): Promise<void> {
    if (claim.status?.phase === 'Pending') return
    await this.claimClient(claim).updateStatus({ ...deepCopy(claim), status: { phase: 'Pending' } })
  }

  private async syncNamedVolume(claim: PersistentVolumeClaim, name: string): Promise<void> {
    const volume = this.volumes.lister.get(name)
    if (!volume) return this.setPending(claim)
    if (!volume.spec.claimRef) {
      const why = misfit(volume, claim)
      if (why === undefined) return this.bind(volume, claim)
      this.claimEvent(claim, 'Warning', 'VolumeMismatch', `Cannot bind to requested volume ${quote(name)}: ${why}`)
      return this.setPending(claim)
    }
    if (isVolumeOf(volume, claim)) return this.bind(volume, claim)
    if (claim.metadata.annotations?.[BOUND_BY_CONTROLLER] === undefined) {
      this.claimEvent(claim, 'Warning', 'FailedBinding', `volume ${quote(name)} already bound to a different claim.`)
      return this.setPending(claim)
    }
    throw new Error(
      `invalid binding of claim ${quote(objectKey(claim))} to volume ${quote(name)}: volume already claimed by ${quote(`${volume.spec.claimRef.namespace}/${volume.spec.claimRef.name}`)}`,
    )
  }

  /** Four writes, volume first, each left out when it is done already: a crash in between goes on where it was. */
  private async bind(volume: PersistentVolume, claim: PersistentVolumeClaim): Promise<void> {
    const volumes = this.context.client.resource(resources.corev1.persistentvolumes)
    let v = volume
    if (v.spec.claimRef?.uid !== claim.metadata.uid) {
      const preBound = v.spec.claimRef !== undefined
      const next = deepCopy(v)
      next.spec.claimRef = referenceTo(resources.corev1.persistentvolumeclaims, claim)
      if (!preBound) next.metadata.annotations = { ...next.metadata.annotations, [BOUND_BY_CONTROLLER]: 'yes' }
      v = await volumes.update(next)
    }
    v = await this.setVolumePhase(v, 'Bound')
    let c = claim
    const annotations = { ...c.metadata.annotations }
    if (c.spec.volumeName !== v.metadata.name || annotations[BIND_COMPLETED] === undefined) {
      const next = deepCopy(c)
      if (!next.spec.volumeName) annotations[BOUND_BY_CONTROLLER] = 'yes'
      annotations[BIND_COMPLETED] = 'yes'
      next.spec.volumeName = v.metadata.name ?? ''
      next.metadata.annotations = annotations
      c = await this.claimClient(c).update(next)
    }
    const storage = v.spec.capacity?.['storage']
    const status = c.status ?? {}
    if (status.phase !== 'Bound' || status.capacity?.['storage'] === undefined) {
      await this.claimClient(c).updateStatus({
        ...deepCopy(c),
        status: { ...deepCopy(status), phase: 'Bound', accessModes: [...(v.spec.accessModes ?? [])], ...(storage ? { capacity: { ...v.spec.capacity } } : {}) },
      })
    }
  }

  private async setVolumePhase(volume: PersistentVolume, phase: string, message?: string): Promise<PersistentVolume> {
    if (volume.status?.phase === phase) return volume
    const lastPhaseTransitionTime = formatTime(this.context.clock.now())
    return this.context.client
      .resource(resources.corev1.persistentvolumes)
      .updateStatus({ ...deepCopy(volume), status: { phase, ...(message ? { message } : {}), lastPhaseTransitionTime } })
  }

  private async syncVolume(name: string): Promise<void> {
    const volume = this.volumes.lister.get(name)
    if (!volume) return
    const ref = volume.spec.claimRef
    if (!ref?.uid) {
      await this.setVolumePhase(volume, 'Available')
      return
    }
    const claim = await this.claimOf(volume)
    if (claim?.metadata.uid === ref.uid) {
      if (claim.spec.volumeName === volume.metadata.name && claim.status?.phase === 'Bound') await this.setVolumePhase(volume, 'Bound')
      else if (!claim.spec.volumeName && modeOf(volume.spec) !== modeOf(claim.spec)) this.tellModes(volume, claim)
      else this.claimController.queue.add(objectKey(claim))
      return
    }
    if (volume.status?.phase !== 'Released' && volume.status?.phase !== 'Failed') await this.setVolumePhase(volume, 'Released')
    await this.reclaim(volume)
  }

  private tellModes(volume: PersistentVolume, claim: PersistentVolumeClaim): void {
    const why = 'due to incompatible volumeMode.'
    const about = referenceTo(resources.corev1.persistentvolumes, volume)
    this.recorder.event(
      about,
      'Warning',
      'VolumeMismatch',
      `Cannot bind PersistentVolume to requested PersistentVolumeClaim ${quote(claim.metadata.name ?? '')} ${why}`,
    )
    this.claimEvent(
      claim,
      'Warning',
      'VolumeMismatch',
      `Cannot bind PersistentVolume ${quote(volume.metadata.name ?? '')} to requested PersistentVolumeClaim ${why}`,
    )
  }

  private async claimOf(volume: PersistentVolume): Promise<PersistentVolumeClaim | undefined> {
    const { namespace, name, uid } = volume.spec.claimRef ?? {}
    const cached = this.claims.lister.get(`${namespace}/${name}`)
    if (cached?.metadata.uid === uid) return cached
    try {
      return await this.context.client
        .resource(resources.corev1.persistentvolumeclaims)
        .namespace(namespace)
        .get(name ?? '')
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }

  /** Retained volumes stay, those of an external driver are that driver's; nothing else is known here. */
  private async reclaim(volume: PersistentVolume): Promise<void> {
    const about = referenceTo(resources.corev1.persistentvolumes, volume)
    switch (volume.spec.persistentVolumeReclaimPolicy) {
      case 'Retain':
      case 'Delete':
        if (volume.spec.persistentVolumeReclaimPolicy === 'Delete' && !volume.spec.csi && !volume.metadata.deletionTimestamp) {
          const message = 'error getting deleter volume plugin for volume "{name}": no deletable volume plugin matched'.replace(
            '{name}',
            volume.metadata.name ?? '',
          )
          if (volume.status?.phase !== 'Failed') {
            await this.setVolumePhase({ ...volume, status: { ...volume.status, phase: '' } }, 'Failed', message)
            this.recorder.event(about, 'Warning', 'VolumeFailedDelete', message)
          }
        }
        return
      case 'Recycle':
        if (volume.status?.phase === 'Failed') return
        await this.setVolumePhase({ ...volume, status: { ...volume.status, phase: '' } }, 'Failed', 'No recycler plugin found for the volume!')
        this.recorder.event(about, 'Warning', 'VolumeFailedRecycle', 'No recycler plugin found for the volume!')
        return
      default:
        this.recorder.event(about, 'Warning', 'VolumeUnknownReclaimPolicy', 'Volume has unrecognized PersistentVolumeReclaimPolicy')
    }
  }
}
