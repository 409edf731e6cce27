import { existsSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

/**
 * The folder of data recorded from the original, which lies beside the project and not in it.
 * @param part a folder in it, such as `recorded`
 * @returns '' where the data is absent: such tests are skipped then, but never under CI
 * @throws Error under CI
 */
export function goldenFolder(part = ''): string {
  const found = ['../shared/golden', '../../shared/golden'].map((folder) => join(root, folder, part)).find(existsSync)
  if (!found && process.env['CI']) throw new Error(`recorded data is absent: ${part || 'golden'}`)
  return found ?? ''
}
