import { chmodSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { closeFolder } from '../src/close-folder.ts'

const is_root = process.getuid?.() === 0
const modeOf = (path: string) => (lstatSync(path).mode & 0o777).toString(8)

function folderOf(mode: number) {
  const scratch = mkdtempSync(join(tmpdir(), 'tributary-close-'))
  onTestFinished(() => rmSync(scratch, { recursive: true, force: true }))
  const folder = join(scratch, 'data')
  mkdirSync(folder)
  chmodSync(folder, mode)
  const add = (name: string, entry_mode: number, is_folder = false) => {
    const path = join(folder, name)
    if (is_folder) mkdirSync(path)
    else writeFileSync(path, '')
    chmodSync(path, entry_mode)
    return path
  }
  return { scratch, folder, add }
}

test('a folder that others may read is closed, and what lies in it', () => {
  const { folder, add } = folderOf(0o755)
  const [lock, audit, log] = [add('lock.sqlite', 0o644), add('audit', 0o775, true), add('log', 0o700, true)]
  const top = is_root ? '711' : '700'
  expect(closeFolder(folder)).toEqual([
    { path: folder, before: '755', after: top },
    { path: audit, before: '775', after: '700' },
    { path: lock, before: '644', after: '600' },
  ])
  expect([folder, lock, audit, log].map(modeOf)).toEqual([top, '600', '700', '700'])
  expect(closeFolder(folder)).toEqual([])
})

test('no mode is loosened', () => {
  const { folder, add } = folderOf(0o700)
  const [file, inner] = [add('a', 0o400), add('b', 0o500, true)]
  expect(closeFolder(folder)).toEqual([])
  expect([folder, file, inner].map(modeOf)).toEqual(['700', '400', '500'])
})

test('a secret that others could read is left to be refused, and a link to what it leads to', () => {
  const { scratch, folder, add } = folderOf(0o700)
  const [key, elsewhere] = [add('master-key', 0o644), join(scratch, 'elsewhere')]
  mkdirSync(elsewhere)
  chmodSync(elsewhere, 0o755)
  symlinkSync(elsewhere, join(folder, 'audit'))
  expect(closeFolder(folder)).toEqual([])
  expect([key, elsewhere].map(modeOf)).toEqual(['644', '755'])
})

test('a folder that is named by a link is closed', () => {
  const { scratch, folder } = folderOf(0o777)
  const link = join(scratch, 'link')
  symlinkSync(folder, link)
  closeFolder(link)
  expect(modeOf(folder)).toBe(is_root ? '711' : '700')
})
