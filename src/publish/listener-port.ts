import type { Setting } from '../client/generated/settings.ts';
import { publicPorts } from '../lib/net/public-ports.ts';

/** The port at which visitors reach the server: 443 if they can use it, or if nobody can say. */
export function listenerPort(settings: readonly Pick<Setting, 'name' | 'value'>[]): number {
  const portsIn = (name: string): readonly number[] => {
    const value = settings.find((each) => each.name === name)?.value ?? [];
    const items = (Array.isArray(value) ? value : [value]) as readonly unknown[];
    return items.map((item) => Number(/(\d+)$/.exec(String(item))?.[1] ?? 0));
  };
  const [first = 0] = publicPorts({ listening: portsIn('edge_listen'), mapped: portsIn('edge_host_ports') });
  return first;
}
