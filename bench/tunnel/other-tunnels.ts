import { say } from '../support/flags.ts';

/** Why the other tunnels of the plan are not measured: they cannot be run here, and a figure that nobody can repeat is none. */
export async function sayOfOtherTunnels(): Promise<void> {
  say('\nlocaltunnel: left out');
  await Promise.resolve();
}
