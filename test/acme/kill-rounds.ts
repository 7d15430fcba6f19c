import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { isIssued, managedRecord, untilManaged } from '../support/acme/acme-world.ts';
import { type FakeAcmeServer, startFakeAcme } from '../support/acme/fake-acme-server.ts';
import { openNode } from '../support/acme/manager-world.ts';
import type { Cleanup } from '../support/cleanup.ts';
import { tempDir } from '../support/temp-dir.ts';

const PROGRAM = fileURLToPath(new URL('../support/acme/node-process.ts', import.meta.url));
const HOST = 'app.example.com';

/** Requests of a first order, in order: a node is killed at each of them. */
export const STEPS = ['newAccount', 'newOrder', 'authorization', 'challenge', 'order', 'finalize', 'certificate'];

export interface KillRound {
  readonly step: string;
  /** Whether the server handles the request at which the node is killed. */
  readonly isHandled: boolean;
}

/** Kills a node with SIGKILL at one step of an order, and lets another one continue. */
export async function killRound(test: Cleanup, { step, isHandled }: KillRound): Promise<FakeAcmeServer> {
  const fake = await startFakeAcme(test);
  const dataDir = await tempDir(test);
  const holder: { child?: ChildProcess } = {};
  let isOver = false;
  fake.behaviour.intercept = ({ resource }) => {
    if (isOver) return null;
    if (resource !== step) return null;
    isOver = true;
    holder.child?.kill('SIGKILL');
    return isHandled ? null : 'hang';
  };
  const child = spawn(process.execPath, [PROGRAM, dataDir, fake.directoryUrl, fake.caFile, HOST], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  holder.child = child;
  await once(child, 'exit');
  const node = await openNode(test, { servers: [fake], dataDir });
  const doc = await untilManaged(node, HOST, isIssued);
  assert.equal(doc.job, null);
  assert.deepEqual(Object.keys(managedRecord(node, HOST)?.secrets ?? {}), ['/private_key']);
  assert.deepEqual([...node.replica.all('acme_challenge')], []);
  assert.equal(fake.accounts.size, 1, 'one account');
  // The server lists its orders, so that even one whose creation was not answered is found.
  assert.equal(fake.orders.length, 1, 'one order');
  await node.close();
  return fake;
}
