import type { X509Certificate } from 'node:crypto';
import { connect as connectTcp, createServer } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { cidrMatcher, parseAddress } from '../../../kit/net/cidr.ts';
import { formatListenAddress, isWildcardHost, type ListenAddress } from '../../../kit/net/listen-address.ts';
import type { Config } from '../../settings/schema.ts';

const TIMEOUT_MS = 3000;

/** Null when a connection succeeded, otherwise the reason. */
export function dialProblem({ host, port }: ListenAddress): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connectTcp({ host, port, timeout: TIMEOUT_MS });
    const finish = (problem: string | null): void => {
      socket.destroy();
      resolve(problem);
    };
    socket.once('connect', () => finish(null));
    socket.once('timeout', () => finish('no answer'));
    socket.once('error', (error) => finish(reasonOf(error)));
  });
}

export type Handshake =
  | { readonly certificate: X509Certificate; readonly problem: null }
  | { readonly certificate: null; readonly problem: string };

/**
 * The certificate presented for a name. Trust is not checked here. `proxies`: addresses from which the server expects a
 * PROXY header, which may include this machine.
 */
export function performHandshake(
  { host, port }: ListenAddress,
  servername: string,
  proxies: readonly string[] = [],
): Promise<Handshake> {
  return new Promise((resolve) => {
    const tcp = connectTcp({ host, port, timeout: TIMEOUT_MS });
    tcp.once('connect', () => {
      if (isAmong(proxies, tcp.localAddress)) tcp.write('PROXY UNKNOWN\r\n');
    });
    const socket = connectTls({ socket: tcp, servername, rejectUnauthorized: false });
    tcp.once('error', (error) => socket.destroy(error));
    tcp.once('timeout', () => fail('no answer'));
    const fail = (problem: string): void => {
      socket.destroy();
      resolve({ certificate: null, problem });
    };
    socket.once('secureConnect', () => {
      const certificate = socket.getPeerX509Certificate();
      if (certificate === undefined) return fail('the server presented no certificate');
      // A server that requires a client certificate closes the connection now: that is not a failure.
      socket.on('error', () => {});
      socket.destroy();
      resolve({ certificate, problem: null });
    });
    socket.once('error', (error) => fail(reasonOf(error)));
  });
}

/** Null when the address can be bound, otherwise the system's error code. */
export function listenProblem({ host, port }: ListenAddress): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error) => resolve(codeOf(error)));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  });
}

/** The address to dial for a listener: "all addresses" cannot be dialled. */
export function dialled({ host, port }: ListenAddress): ListenAddress {
  if (!isWildcardHost(host)) return { host, port };
  return { host: host.includes(':') ? '::1' : '127.0.0.1', port };
}

function isAmong(ranges: readonly string[], address: string | undefined): boolean {
  const parsed = parseAddress(address ?? '');
  return parsed !== null && ranges.some((range) => cidrMatcher(range)(parsed));
}

export function addressText(address: ListenAddress): string {
  return formatListenAddress(address);
}

function reasonOf(error: Error): string {
  const words: Readonly<Record<string, string>> = {
    ECONNREFUSED: 'the connection was refused',
    ECONNRESET: 'the connection was closed',
    EHOSTUNREACH: 'the host is not reachable',
    ENETUNREACH: 'the network is not reachable',
    ENOTFOUND: 'the name does not resolve',
    EAI_AGAIN: 'the name could not be resolved',
    ERR_SSL_TLSV1_UNRECOGNIZED_NAME: 'the server does not serve this name',
    ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR: 'the server has no usable certificate',
  };
  return words[codeOf(error)] ?? error.message;
}

function codeOf(error: Error): string {
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return codeOf(error.errors[0]);
  return 'code' in error ? String(error.code) : error.message;
}

/** Where this machine reaches the API, whatever its public address is. */
export function listenerUrl({ api_tls_cert: certificate, api_listen: listen }: Config): string {
  return `${certificate === null ? 'http' : 'https'}://${formatListenAddress(dialled(listen))}`;
}

/** Processes the items with limited concurrency, and returns the results in the order of the items. */
export async function mapConcurrently<Item, Result>(
  items: readonly Item[],
  task: (item: Item) => Promise<Result>,
  atOnce = 16,
): Promise<readonly Result[]> {
  const results: Result[] = new Array(items.length);
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) results[index] = await task(items[index] as Item);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, work));
  return results;
}
