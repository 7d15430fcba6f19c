import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { fillerOn } from '../store/disk-filler.ts';
import { MOUNTING_REFUSED, mountSmallDisk } from '../store/small-disk.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TestWorld } from '../support/test-world.ts';
import { operatorEnv, runCommand } from './run-command.ts';

const world = await TestWorld.open({ after });

test('a full disk is reported without codes of the system by every command that writes a file, and nothing is left there', async (t) => {
  const disk = mountSmallDisk(t, 1);
  if (disk === null) {
    t.skip(MOUNTING_REFUSED);
    return;
  }
  fillerOn(disk, 0).fillUp();
  const before = readdirSync(disk);
  const file = join(disk, 'written');
  for (const [args, env] of [
    [['store', 'backup', file], { POSTERN_DATA_DIR: world.dataDir }],
    [['export', '-f', file], operatorEnv(world)],
  ] as const) {
    const { code, stderr } = await runCommand(args, { env });
    assert.equal(code, 1, args.join(' '));
    assert.equal(
      stderr,
      `postern: cannot write ${file}: its disk is full. Free space there, or name a file on another disk\n`,
    );
    assert.deepEqual(readdirSync(disk), before, args.join(' '));
  }
});

test('restore says of another file what it is, and not what the decompressor makes of it', async (t) => {
  const folder = await tempDir(t);
  const file = join(folder, 'file');
  const data = join(folder, 'data');
  for (const [content, words] of [
    ['hello\n', 'the file is not a Postern backup, or is damaged'],
    [gzipSync('{"format":"something else"}\n'), 'the file is not a Postern backup'],
    [gzipSync('x'.repeat(1000)).subarray(0, 20), 'the backup is truncated: its end is missing'],
  ] as const) {
    writeFileSync(file, content);
    const { code, stderr } = await runCommand(['store', 'restore', file, '--data-dir', data]);
    assert.equal(code, 1);
    assert.equal(stderr, `postern: ${words}. Nothing was restored\n`);
  }
});
