import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { isTcpUnderPressure } from './tcp-memory.ts';

async function isPressed(t: TestContext, limits: string, pages: number): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'postern-tcp-memory-'));
  t.after(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, 'sys/net/ipv4'), { recursive: true });
  await mkdir(join(folder, 'net'));
  await writeFile(join(folder, 'sys/net/ipv4/tcp_mem'), limits);
  const use = `sockets: used 46\nTCP: inuse 15 orphan 0 tw 238 alloc 15 mem ${pages}\nUDP: inuse 0 mem 999999\n`;
  await writeFile(join(folder, 'net/sockstat'), use);
  return isTcpUnderPressure(folder);
}

test('compares what TCP takes with the second number of tcp_mem', async (t) => {
  assert.equal(await isPressed(t, '100\t200\t300\n', 200), false);
  assert.equal(await isPressed(t, '100\t200\t300\n', 201), true);
  assert.equal(await isPressed(t, 'nonsense\n', 201), false);
});

test('says no where the system does not show it', async () => {
  assert.equal(await isTcpUnderPressure('/nonexistent'), false);
});
