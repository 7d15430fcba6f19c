import type { Setting } from '../client/generated/settings.ts';

const HTTPS_PORT = 443;

/** The port at which visitors reach the server: 443 if it listens there, or if nobody can say. */
export function listenerPort(settings: readonly Pick<Setting, 'name' | 'value'>[]): number {
  const value = settings.find(({ name }) => name === 'edge_listen')?.value ?? [];
  const addresses = (Array.isArray(value) ? value : [value]) as readonly unknown[];
  const ports = addresses
    .map((address) => Number(/:(\d+)$/.exec(String(address))?.[1] ?? 0))
    .filter((port) => port > 0);
  return ports.includes(HTTPS_PORT) ? HTTPS_PORT : (ports[0] ?? HTTPS_PORT);
}
