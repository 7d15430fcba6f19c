import { setTimeout as sleep } from 'node:timers/promises';
import { isQuick, say } from '../support/flags.ts';
import { rssMiB } from '../support/process-cost.ts';
import { startAgents, startTunnelServer } from './tunnel-server.ts';

const PER_AGENT = 100;
const AGENTS = isQuick ? 2 : 20;
/** Time to return memory that was needed only to open them, as far as it is returned without being asked. */
const SETTLE_MS = isQuick ? 500 : 5000;

/** Resident memory of idle tunnels: with labels, a hundred per agent, with two connections per agent. */
export async function idle(directory: string): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const server = await startTunnelServer(directory);
  stack.defer(() => server.program.stop());
  const agentsOf = (first: number, count: number) =>
    Array.from({ length: count }, (_, agent) =>
      Array.from({ length: PER_AGENT }, (_each, n) => ({ labels: { agent: `${first + agent}`, n: `${n}` }, addr: 9 })),
    );
  // The first agent brings what every server with agents has.
  const first = await startAgents(server, agentsOf(0, 1));
  stack.defer(() => first.stop());
  await sleep(SETTLE_MS);
  const before = { server: rssMiB(server.program.pid), agent: rssMiB(first.pid) };
  const rest = await startAgents(server, agentsOf(1, AGENTS));
  stack.defer(() => rest.stop());
  await sleep(SETTLE_MS);
  const after = { server: rssMiB(server.program.pid), agent: rssMiB(rest.pid) };
  const thousands = (AGENTS * PER_AGENT) / 1000;
  say(`${AGENTS * PER_AGENT} tunnels of ${AGENTS} agents, which share one process`);
  say(
    `server         ${((after.server - before.server) / thousands).toFixed(1)} MiB per 1,000 tunnels (${before.server.toFixed(0)} → ${after.server.toFixed(0)} MiB)`,
  );
  say(
    `agent's side   ${((after.agent - before.agent) / thousands).toFixed(1)} MiB per 1,000 tunnels (${before.agent.toFixed(0)} MiB with one agent of ${PER_AGENT}, ${after.agent.toFixed(0)} with ${AGENTS})`,
  );
}
