import { lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction, connect as netConnect, type OnReadOpts, type Socket } from 'node:net';
import {
  type ConnectionOptions,
  checkServerIdentity,
  createSecureContext,
  getCACertificates,
  type SecureContext,
  connect as tlsConnect,
} from 'node:tls';
import { messageOf } from '../../kit/error-text.ts';
import {
  attach,
  closing,
  guarded,
  ignoreErrors,
  type ListenerOwner,
  listen,
  reporting,
} from '../../kit/guarded-listeners.ts';
import { ForbiddenAddressError, guardedLookup } from '../../kit/net/lookups.ts';
import { noticeVanished } from '../../kit/net/sockets.ts';
import { isCrowded } from '../../kit/net/waiting-bytes.ts';
import type { UpstreamFailure } from './upstream.ts';
import { failed, reasonOf } from './upstream-failure.ts';

interface DialOptions {
  readonly host: string;
  readonly port: number;
  /** `takesAnyCertificate` is for agents whose user chose it; the edge never sets it. */
  readonly tls: {
    readonly servername: string;
    readonly takesAnyCertificate?: boolean;
    context(): SecureContext;
  } | null;
  readonly connectTimeoutMs: number;
  isAddressAllowed(ip: string): boolean;
  /** Whether one more connection may be opened. Absent: always. */
  readonly hasRoom?: (() => boolean) | undefined;
  readonly lookup?: LookupFunction | undefined;
}

/** Intended use of the connection. */
interface DialPurpose {
  readonly alpn: readonly ('h2' | 'http/1.1')[];
  /** The socket will be passed on as a stream, so its bytes must arrive through the stream. */
  readonly isStream: boolean;
}

export interface Dialled {
  readonly socket: Socket;
  readonly protocol: 'h2' | 'http/1.1';
  /** Delivers the bytes when they bypass the stream. */
  readonly inlet: Inlet | null;
}

type DialHandler = (dialled: Dialled | null, failure: UpstreamFailure | null) => void;
/**
 * Connects, and returns a function that cancels the attempt. The handler is never called before this returns, nor after
 * cancelling.
 */
export type Dial = (purpose: DialPurpose, handler: DialHandler) => () => void;

/**
 * Connections to one address. The name is resolved for each connection, and the result is checked then: a name that was
 * harmless when it was configured may point elsewhere now (DNS rebinding).
 */
export function createDial(options: DialOptions): Dial {
  let session: Buffer | undefined;
  const { host, port, tls } = options;
  const hasRoom = options.hasRoom ?? (() => true);
  const allowedLookup = guardedLookup(options.lookup ?? systemLookup, (ip) => options.isAddressAllowed(ip));
  const lookup = roomyLookup(allowedLookup, hasRoom);
  const target = { host, port, lookup, noDelay: true, autoSelectFamily: true };

  function open(purpose: DialPurpose): { socket: Socket; inlet: Inlet | null; readyEvent: string } {
    if (tls === null) {
      // A shared buffer saves an allocation of 64 KiB per read; see Inlet.
      const inlet = purpose.isStream ? null : new Inlet();
      const socket = netConnect(inlet === null ? target : { ...target, onread: inlet.onread });
      return { socket, inlet, readyEvent: 'connect' };
    }
    const { servername } = tls;
    const secure: ConnectionOptions = {
      ...target,
      secureContext: tls.context(),
      ALPNProtocols: [...purpose.alpn],
      rejectUnauthorized: tls.takesAnyCertificate !== true,
      // An IP address is not a valid server name (RFC 6066 §3), but the certificate must still contain it.
      servername: isIP(servername) === 0 ? servername : '',
      checkServerIdentity: (_host, certificate) => checkServerIdentity(servername, certificate),
      ...(session === undefined ? {} : { session }),
    };
    const socket = tlsConnect(secure);
    listen(socket, 'session', closing(socket, 'upstream dial'), (ticket: Buffer) => {
      // A resumed session inherits the verdict of the original handshake: only a verified one is kept.
      if (socket.authorized) session = ticket;
    });
    return { socket, inlet: null, readyEvent: 'secureConnect' };
  }

  /** An address is not looked up: it is checked here. */
  function addressProblem(): Error | null {
    if (!options.isAddressAllowed(host)) return new ForbiddenAddressError(host);
    return hasRoom() ? null : new NoDescriptorError();
  }

  return (purpose, handler) => {
    const problem = isIP(host) === 0 ? null : addressProblem();
    if (problem !== null) {
      const owner = reporting('upstream dial');
      const refusal = setImmediate(guarded(owner, () => handler(null, connectFailure(problem))));
      return () => clearImmediate(refusal);
    }
    const { socket, inlet, readyEvent } = open(purpose);
    const owner = closing(socket, 'upstream dial');
    const end = (): void => {
      clearTimeout(timer);
      socket.off(readyEvent, onReady).off('error', onError).off('close', onClose);
    };
    const fail = (failure: UpstreamFailure): void => {
      end();
      ignoreErrors(socket).destroy();
      handler(null, failure);
    };
    const onError = guarded(owner, (error: unknown): void => {
      session = undefined;
      fail(connectFailure(error));
    });
    const onClose = guarded(owner, () =>
      fail(failed('connect', 'closed', 'the connection was closed while connecting', false)),
    );
    const onReady = guarded(owner, () => {
      end();
      // Any other exchange has deadlines.
      if (purpose.isStream) noticeVanished(socket);
      handler({ socket, protocol: negotiated(socket), inlet }, null);
    });
    const onTimeout = guarded(owner, () =>
      fail(failed('connect', 'timeout', `no connection within ${options.connectTimeoutMs} ms`, false)),
    );
    const timer = setTimeout(onTimeout, options.connectTimeoutMs);
    attach(socket, readyEvent, onReady);
    attach(socket, 'error', onError);
    attach(socket, 'close', onClose);
    return () => {
      end();
      ignoreErrors(socket).destroy();
    };
  };
}

function negotiated(socket: Socket): 'h2' | 'http/1.1' {
  return 'alpnProtocol' in socket && socket.alpnProtocol === 'h2' ? 'h2' : 'http/1.1';
}

function connectFailure(error: unknown): UpstreamFailure {
  return failed('connect', reasonOf(error), messageOf(error), false);
}

/** The rest of this process's file descriptors is reserved. */
class NoDescriptorError extends Error {
  readonly code = 'EMFILE';

  constructor() {
    super('this process has too few file descriptors left for another connection. Raise LimitNOFILE= or ulimit -n');
    this.name = 'NoDescriptorError';
  }
}

/** Asks for room once the name is resolved: the socket is opened next, and not before. */
function roomyLookup(lookup: LookupFunction, hasRoom: () => boolean): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, options, (error, found, family) => {
      if (error === null && !hasRoom()) callback(new NoDescriptorError(), '', 0);
      else callback(error, found, family);
    });
  };
}

export interface ByteTarget extends ListenerOwner {
  /** `bytes` is overwritten by the next read of any connection: copy what must be kept. */
  onBytes(bytes: Buffer): void;
}

const READ_BYTES = 65_536;
/**
 * All plain connections read into one buffer: the system fills it and `onBytes` empties it within one turn of the event
 * loop, and nothing in between (writing, connecting) reads from a plain socket. Without it each read allocates 64 KiB
 * and frees most of it: about 1 µs and much garbage collection per response. On Windows reads are posted ahead of time,
 * and TLS may read while it writes: neither may share the buffer.
 */
const shared = process.platform === 'win32' ? null : Buffer.allocUnsafeSlow(READ_BYTES);

/** While much waits for slow readers, a single read must not add more than this. */
const PART_BYTES = 16_384;
const sharedPart = (shared ?? Buffer.alloc(0)).subarray(0, PART_BYTES);

/** Delivers a plain socket's bytes without going through its stream. */
class Inlet {
  target: ByteTarget | null = null;
  /** The first read of a connection is small: thousands of connections may begin before what they read is counted. */
  #hasRead = false;
  readonly onread: OnReadOpts;

  constructor() {
    const buffer = shared ?? Buffer.allocUnsafeSlow(READ_BYTES);
    const part = shared === null ? buffer.subarray(0, PART_BYTES) : sharedPart;
    this.onread = {
      buffer: () => {
        const isFirst = !this.#hasRead;
        this.#hasRead = true;
        return isFirst || isCrowded() ? part : buffer;
      },
      callback: (count) => {
        const { target } = this;
        try {
          target?.onBytes(buffer.subarray(0, count));
        } catch (error) {
          target?.contain(error);
        }
        return true;
      },
    };
  }
}

let systemContext: SecureContext | null = null;

/**
 * Trusted certificates for upstreams. Reading the system's certificates takes tens of milliseconds and some megabytes:
 * done once for all upstreams, at the first connection that needs them.
 */
export function upstreamSecureContext(ca: string | readonly string[] | undefined): () => SecureContext {
  if (ca === undefined) {
    return () => {
      systemContext ??= createSecureContext({ ca: systemRoots(), minVersion: 'TLSv1.2' });
      return systemContext;
    };
  }
  let own: SecureContext | null = null;
  return () => {
    own ??= createSecureContext({ ca: typeof ca === 'string' ? ca : [...ca], minVersion: 'TLSv1.2' });
    return own;
  };
}

/** The machine's trust store, or the runtime's own list where there is none. */
function systemRoots(): string[] {
  const system = getCACertificates('system');
  return system.length > 0 ? [...system, ...getCACertificates('extra')] : getCACertificates('default');
}
