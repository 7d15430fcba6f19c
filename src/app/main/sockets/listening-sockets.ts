import { closeSync } from 'node:fs';
import type { AddressInfo, Server } from 'node:net';
import { ignoreErrors, type ListenerOwner, listenOnce } from '../../../kit/guarded-listeners.ts';
import { formatListenAddress, type ListenAddress } from '../../../kit/net/listen-address.ts';
import { mainErrors } from '../errors.ts';
import { type ListenSetting, listenOn } from './listener.ts';

/** A listening socket that this process was given: by the process before it, or by systemd. */
interface GivenSocket {
  /** The setting without `_listen`, or `tcp` for the port of a tunnel. */
  readonly name: string;
  readonly fd: number;
  /** The address in the settings of the process before this one; null: it serves any. */
  readonly wanted: string | null;
  /** The actual address; null: known once it is used. */
  readonly address: ListenAddress | null;
}

/** A socket that can be given to the next process. */
export interface OpenSocket {
  readonly name: string;
  readonly wanted: string;
  readonly address: ListenAddress;
  readonly server: Server;
}

/**
 * Opens listeners on sockets that this process was given, or on new ones. A socket that another process still accepts
 * from is used only at `start`, when this process is ready: until then connections go to the other one, and none is
 * refused at any time.
 */
export class ListeningSockets {
  readonly #given: GivenSocket[];
  readonly #isDeferred: boolean;
  readonly #open: OpenSocket[] = [];
  #waiting: { readonly name: string; readonly start: () => Promise<unknown> }[] = [];

  constructor(given: readonly GivenSocket[] = [], isDeferred = false) {
    this.#given = [...given];
    this.#isDeferred = isDeferred;
  }

  async open(
    server: Server,
    setting: ListenSetting,
    address: ListenAddress,
    all?: readonly ListenAddress[],
  ): Promise<ListenAddress> {
    const name = setting.slice(0, -'_listen'.length);
    const wanted = formatListenAddress(address);
    const given = this.#take((socket) => socket.name === name && (socket.wanted ?? wanted) === wanted);
    const actual = given === null ? await listenOn(server, setting, address, all) : await this.#use(server, given);
    this.#open.push({ name, wanted, address: actual, server });
    return actual;
  }

  /** The descriptor of a tunnel's port. */
  takePort(port: number): number | null {
    return this.#take(({ name, address }) => name === 'tcp' && address?.port === port)?.fd ?? null;
  }

  /** Starts to accept on the sockets with this name, or on all. */
  async start(name?: string): Promise<void> {
    const meant = this.#waiting.filter((each) => name === undefined || each.name === name);
    this.#waiting = this.#waiting.filter((each) => !meant.includes(each));
    for (const { start } of meant) await start();
  }

  list(): readonly OpenSocket[] {
    return this.#open;
  }

  /** A socket that nobody accepts from would leave its clients waiting. */
  closeUnused(): void {
    for (const { fd } of this.#given.splice(0)) closeSync(fd);
  }

  #take(isMeant: (socket: GivenSocket) => boolean): GivenSocket | null {
    const at = this.#given.findIndex(isMeant);
    return at === -1 ? null : (this.#given.splice(at, 1)[0] ?? null);
  }

  async #use(server: Server, given: GivenSocket): Promise<ListenAddress> {
    if (this.#isDeferred && given.address !== null) {
      this.#waiting.push({ name: given.name, start: () => listenOnDescriptor(server, given.fd) });
      return given.address;
    }
    return listenOnDescriptor(server, given.fd);
  }
}

async function listenOnDescriptor(server: Server, fd: number): Promise<ListenAddress> {
  await new Promise<void>((resolve, reject) => {
    const owner: ListenerOwner = { contain: reject };
    listenOnce(server, 'error', owner, reject);
    server.listen({ fd }, resolve);
  });
  ignoreErrors(server);
  const { address, port } = server.address() as AddressInfo;
  return { host: address, port };
}

/** The runtime documents no other way to the number of a server's descriptor. */
export function descriptorOf(server: Server): number | null {
  const { _handle: handle } = server as Server & { readonly _handle?: { readonly fd?: number } | null };
  return handle?.fd !== undefined && handle.fd >= 0 ? handle.fd : null;
}

/** The first descriptor that systemd passes: sd_listen_fds(3). */
const FIRST_FD = 3;
const NAMES = ['api', 'edge', 'edge_http', 'tunnel'];

/**
 * Sockets of `.socket` units, by their `FileDescriptorName`. The variables are removed: they are for this process
 * alone.
 */
export function systemdSockets(env: NodeJS.ProcessEnv, pid = process.pid): readonly GivenSocket[] {
  const { LISTEN_PID: forPid, LISTEN_FDS: count = '0', LISTEN_FDNAMES: names = '' } = env;
  for (const name of ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES']) delete env[name];
  if (forPid !== String(pid) || !/^\d{1,3}$/.test(count)) return [];
  const given = names.split(':');
  return Array.from({ length: Number(count) }, (_, at) => {
    const name = given[at] ?? '';
    if (NAMES.includes(name)) return { name, fd: FIRST_FD + at, wanted: null, address: null };
    const message = `systemd passed a socket named ${JSON.stringify(name)}: set FileDescriptorName in the .socket unit to one of ${NAMES.join(', ')}`;
    throw mainErrors.create('ERR_POSTERN_LISTEN', message);
  });
}
