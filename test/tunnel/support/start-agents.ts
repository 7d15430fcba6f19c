import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Cleanup } from '../../support/cleanup.ts';
import type { AgentProcessMessage, AgentProcessOptions } from './agent-process.ts';
import { eventually } from './fault-world.ts';

const CHILD = fileURLToPath(new URL('./agent-process.ts', import.meta.url));

export interface AgentProcess {
  readonly child: ChildProcess;
  readonly messages: readonly AgentProcessMessage[];
  /** The most recently bound one, by the agent's number. */
  url(at?: number): string;
  id(at?: number): string;
  kill(signal: NodeJS.Signals): void;
}

/** Resolves when all of them have their tunnels. The process is killed with the test. */
export async function startAgents(test: Cleanup, options: AgentProcessOptions): Promise<AgentProcess> {
  const child = fork(CHILD, [JSON.stringify(options)], { execArgv: [] });
  const messages: AgentProcessMessage[] = [];
  child.on('message', (message) => messages.push(message as AgentProcessMessage));
  test.after(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  const last = (at: number) => messages.findLast((message) => message.type === 'bound' && message.at === at);
  const count = options.count ?? 1;
  await eventually(
    'the agents have their tunnels',
    () => {
      if (child.exitCode !== null) throw new Error('the agents ended');
      return messages.filter(({ type }) => type === 'ready').length === count;
    },
    120_000,
  );
  return {
    child,
    messages,
    url: (at = 0) => (last(at) as { url: string }).url,
    id: (at = 0) => (last(at) as { id: string }).id,
    kill: (signal) => child.kill(signal),
  };
}
