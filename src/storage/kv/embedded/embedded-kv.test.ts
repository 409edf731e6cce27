import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { kvContract } from '../testing/contract.ts'
import { openEmbeddedKV } from './embedded-kv.ts'

const dir = mkdtempSync(join(tmpdir(), 'k8ts-kv-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const open = (clock: Parameters<typeof openEmbeddedKV>[0]['clock'], id: number) => openEmbeddedKV({ path: join(dir, String(id)), clock, autoCompaction: false })
kvContract('embedded', { open, reopen: open, runs: 30 })
