import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/**
 * Loopback addresses that no other test uses (Linux answers on all of 127.0.0.0/8). Nodes of one installation need the
 * same port of the edge and the same TCP ports, as they have on machines of their own.
 */
export function ownAddresses(count: number): readonly string[] {
  const network = `127.${randomInt(1, 255)}.${randomInt(0, 256)}`;
  return Array.from({ length: count }, (_, at) => `${network}.${at + 1}`);
}

/** Different ports that are free on this address now, and stay so, because nobody else uses the address. */
export async function freePortsOn(host: string, count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, host));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  for (const server of servers) server.close();
  await Promise.all(servers.map((server) => once(server, 'close')));
  return ports;
}
