import { join } from 'node:path';
import { isLoopbackHost, parseListenAddress } from '../../../../kit/net/listen-address.ts';

/** Where the API of Docker or Podman listens. */
export type EngineAddress =
  | { readonly socketPath: string }
  | { readonly host: string; readonly port: number; readonly isLoopback: boolean };

const FORMS = 'must be a path, unix:///PATH or tcp://HOST:PORT';

/** A path, or the forms of `DOCKER_HOST`. */
export function engineAddress(text: string): EngineAddress | { readonly problem: string } {
  if (text.startsWith('tcp://')) {
    const address = parseListenAddress(text.slice('tcp://'.length).replace(/\/$/, ''));
    if (address === null || address.port === 0) return { problem: FORMS };
    return { ...address, isLoopback: isLoopbackHost(address.host) };
  }
  const path = text.startsWith('unix://') ? text.slice('unix://'.length) : text;
  if (/^[a-z][a-z0-9+.-]*:/i.test(path)) {
    return { problem: `${FORMS}: for another machine or TLS, run an agent on that machine` };
  }
  return path.startsWith('/') ? { socketPath: path } : { problem: `${FORMS}, and a path must be absolute` };
}

/** The sockets of Docker and Podman, of the system first. */
export function usualSockets(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const runtime = env['XDG_RUNTIME_DIR'] || null;
  return [
    '/var/run/docker.sock',
    '/run/podman/podman.sock',
    ...(runtime === null ? [] : [join(runtime, 'docker.sock'), join(runtime, 'podman', 'podman.sock')]),
  ];
}

export function engineText(address: EngineAddress): string {
  return 'socketPath' in address ? address.socketPath : `tcp://${address.host}:${address.port}`;
}
