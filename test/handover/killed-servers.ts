import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { tempDir } from '../support/temp-dir.ts';
import { localHttp } from '../tunnel/support/fault-world.ts';
import { HandoverWorld } from './handover-world.ts';
import { Load } from './load.ts';
import { LoginInProgress } from './login-in-progress.ts';

const FAULT = fileURLToPath(new URL('../support/handover-fault.mjs', import.meta.url));

/** Messages of the process that takes over, and before all of them. */
export const MESSAGES = ['loading', 'prepared', 'accepting_agents', 'agents_here', 'serving'] as const;
export type Message = (typeof MESSAGES)[number];

/** From the end of a server until its clients are served again, without a process that supervises it. */
const SERVED_AGAIN_MS = 30_000;

const FAILED = 'no other process took over: this one continues';

export interface Kill {
  readonly who: 'new' | 'old';
  readonly at: Message;
}

/** Kills real servers during handovers, one after the other, while visitors, an agent, a login and a change wait. */
export async function killServers(
  t: TestContext,
  databaseUrl: string | undefined,
  kills: readonly Kill[],
): Promise<readonly string[]> {
  const file = join(await tempDir(t), 'fault');
  const started = (): readonly number[] =>
    existsSync(`${file}.pids`) ? readFileSync(`${file}.pids`, 'utf8').trim().split('\n').map(Number) : [];
  // First: those that nobody else knows hold the pipes of the first one.
  t.after(() => {
    for (const pid of started()) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  });
  const world = await HandoverWorld.open(t, {
    ...(databaseUrl !== undefined && { databaseUrl }),
    env: { NODE_OPTIONS: `--import=${FAULT}`, HANDOVER_FAULT: file },
  });
  const service = `127.0.0.1:${await localHttp(t, (_request, response) => response.end('behind the login'))}`;
  const site = await LoginInProgress.open(t, world, service);
  let pid = world.postern.child.pid ?? 0;
  const figures: string[] = [];
  for (const { who, at } of kills) {
    const name = `${who} at "${at}"`;
    const revision = await waitingChange(world);
    const login = site.inNewBrowser();
    const back = await login.toProviderAndBack();
    const load = new Load(world, { mayFail: who === 'old' }).start();
    t.after(() => load.stop());
    await load.more(5);
    writeFileSync(file, `${who} ${at}`);
    const before = world.say(FAILED).length;
    const known = started().length;
    process.kill(pid, 'SIGUSR2');
    if (who === 'new') {
      while (world.say(FAILED).length === before) await sleep(5);
      await load.more(10);
      await load.stop();
      if (at !== 'agents_here') assert.deepEqual(load.failures, [], name);
      // The new server may serve visitors already.
      else figures.push(`${name}: ${load.failures.length} failed`);
    } else {
      const failed = (): boolean => world.say(FAILED).length > before;
      while (isAlive(pid) && !failed()) await sleep(2);
      assert.ok(!failed(), `${name}: the handover failed: ${JSON.stringify(world.say(FAILED).at(-1))}`);
      const killedMs = performance.timeOrigin + performance.now();
      await Promise.race([load.more(10), sleep(SERVED_AGAIN_MS, undefined, { ref: false })]);
      await load.stop();
      const late = load.failures.map((failure) => Number(failure.split(' at ').at(-1)) - killedMs);
      const lastMs = Math.round(Math.max(0, ...late.filter((ms) => !Number.isNaN(ms))));
      const unserved = performance.timeOrigin + performance.now() - killedMs >= SERVED_AGAIN_MS;
      assert.ok(
        !unserved,
        `${name}: not served again: ${load.failures.slice(-5).join('\n')}\n${world.postern.stdout()}`,
      );
      figures.push(`${name}: ${load.failures.length} failed, the last one ${lastMs} ms after the end of the process`);
      pid = started()[known] as number;
    }
    rmSync(file);
    const page = await login.finish(back);
    assert.deepEqual([page.status, page.text], [200, 'behind the login'], name);
    const api = world.api();
    const confirmed = await api.send('POST', `/changes/${revision}/confirm`, {});
    assert.ok(confirmed.status < 300, `${name}: ${JSON.stringify(confirmed.body)}`);
    for (const id of load.written) assert.equal((await api.send('GET', `/ip_policies/${id}`)).status, 200, name);
    api.close();
  }
  return figures;
}

/** A change that nobody has confirmed yet. */
async function waitingChange(world: HandoverWorld): Promise<number> {
  const api = world.api();
  const { status, body, headers } = await api.send('POST', '/changesets', {
    operations: [{ method: 'POST', path: '/ip_policies', body: { description: 'waits' } }],
    confirm_within: '5m',
  });
  api.close();
  assert.ok(status < 300, JSON.stringify(body));
  return Number(headers['postern-revision']);
}

/** A process whose end nobody has collected yet is no longer alive. */
function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
