import type { Socket } from 'node:net';
import { attach, closing, guarded } from '../../../kit/guarded-listeners.ts';
import { hostNameProblem } from '../../../kit/net/host-name.ts';

/** What a client sends about itself before anything is encrypted. */
export interface ClientHello {
  /** Lower case, without a trailing dot; null when the client sent none. */
  readonly serverName: string | null;
  /** Offered protocols, in the client's order. */
  readonly alpnProtocols: readonly string[];
}

/** `not_tls`: another protocol. `malformed`: violates the format. `bad_name`: not a valid host name. */
type HelloProblem = 'not_tls' | 'malformed' | 'bad_name';

type HelloReading =
  | { readonly ok: true; readonly hello: ClientHello }
  | { readonly ok: false; readonly problem: HelloProblem; readonly message: string };

/** Type of the message. */
const CLIENT_HELLO = 1;
const MESSAGE_HEADER_BYTES = 4;
const RANDOM_BYTES = 32;
const MAX_SESSION_ID_BYTES = 32;
const SERVER_NAME = 0;
const ALPN = 16;
const HOST_NAME = 0;

/** The length of the handshake message that starts here, including its header, once known. */
function messageLength(message: Buffer): number | null {
  return message.length < MESSAGE_HEADER_BYTES ? null : MESSAGE_HEADER_BYTES + message.readUIntBE(1, 3);
}

/** Parses one complete ClientHello: RFC 8446 §4.1.2, and RFC 5246 §7.4.1.2, which may have no extensions at all. */
function readClientHello(message: Buffer): HelloReading {
  const body = new ByteCursor(message, MESSAGE_HEADER_BYTES);
  body.skip(2 + RANDOM_BYTES);
  if (body.vector(1).remaining > MAX_SESSION_ID_BYTES) return malformed('its session id is too long');
  const suites = body.vector(2).remaining;
  const compressions = body.vector(1).remaining;
  if (body.isPastEnd) return malformed('it ends too early');
  if (suites === 0 || suites % 2 !== 0) return malformed('its list of cipher suites has an odd length or is empty');
  if (compressions === 0) return malformed('its list of compression methods is empty');
  if (body.isAtEnd) return { ok: true, hello: { serverName: null, alpnProtocols: [] } };
  const extensions = body.vector(2);
  if (!body.isAtEnd) return malformed('its extensions do not end where it ends');
  return readExtensions(extensions);
}

function readExtensions(extensions: ByteCursor): HelloReading {
  const seen = new Set<number>();
  let serverName: string | null = null;
  let alpnProtocols: readonly string[] = [];
  while (extensions.remaining > 0) {
    const type = extensions.number(2);
    const content = extensions.vector(2);
    if (extensions.isPastEnd) return malformed('an extension ends too early');
    // RFC 8446 §4.2. Two names must not get through: another parser might choose the other one.
    if (seen.has(type)) return malformed('it has an extension twice');
    seen.add(type);
    if (type === SERVER_NAME) {
      const name = readServerName(content);
      if (name === null) return malformed('its server name is malformed');
      const host = name.toLowerCase().replace(/\.$/, '');
      // Addresses are not allowed here (RFC 6066 §3), and "*" must not be looked up as a pattern.
      const problem = hostNameProblem(host, 'refused');
      if (problem !== null) return { ok: false, problem: 'bad_name', message: 'its server name is not a host name' };
      serverName = host;
    } else if (type === ALPN) {
      const protocols = readProtocols(content);
      if (protocols === null) return malformed('its list of protocols is malformed');
      alpnProtocols = protocols;
    }
  }
  return { ok: true, hello: { serverName, alpnProtocols } };
}

/** Exactly one name: RFC 6066 §3 allows one of each type, and host names are the only type. */
function readServerName(content: ByteCursor): string | null {
  const names = content.vector(2);
  const type = names.number(1);
  const name = names.vector(2);
  const isWhole = content.isAtEnd && names.isAtEnd && type === HOST_NAME && name.remaining > 0;
  return isWhole ? name.text() : null;
}

/** RFC 7301 §3.1: at least one, none empty. */
function readProtocols(content: ByteCursor): readonly string[] | null {
  const list = content.vector(2);
  const protocols: string[] = [];
  while (list.remaining > 0 && !list.isPastEnd) protocols.push(list.vector(1).text());
  const isWhole = content.isAtEnd && list.isAtEnd && protocols.length > 0 && !protocols.includes('');
  return isWhole ? protocols : null;
}

function malformed(message: string): HelloReading {
  return { ok: false, problem: 'malformed', message };
}

/**
 * Reads length-prefixed fields. Reading past the end is recorded instead of thrown: hostile input is an expected
 * outcome.
 */
class ByteCursor {
  readonly #bytes: Buffer;
  readonly #end: number;
  #position: number;
  #isPastEnd = false;

  constructor(bytes: Buffer, start = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#position = start;
    this.#end = end;
  }

  /** All bytes were read, and none past the end. */
  get isAtEnd(): boolean {
    return !this.#isPastEnd && this.#position === this.#end;
  }

  get isPastEnd(): boolean {
    return this.#isPastEnd;
  }

  /** A big-endian number of `size` bytes; 0 past the end. */
  number(size: 1 | 2 | 3): number {
    const start = this.#take(size);
    return start === null ? 0 : this.#bytes.readUIntBE(start, size);
  }

  skip(size: number): void {
    this.#take(size);
  }

  /** A field prefixed by its length, as a cursor over it; empty past the end. */
  vector(lengthSize: 1 | 2): ByteCursor {
    const length = this.number(lengthSize);
    const start = this.#take(length);
    return start === null
      ? new ByteCursor(this.#bytes, this.#end, this.#end)
      : new ByteCursor(this.#bytes, start, start + length);
  }

  get remaining(): number {
    return this.#end - this.#position;
  }

  /** The rest, one character per byte. */
  text(): string {
    const start = this.#position;
    this.#position = this.#end;
    return this.#bytes.toString('latin1', start, this.#end);
  }

  #take(size: number): number | null {
    if (this.#isPastEnd || this.remaining < size) {
      this.#isPastEnd = true;
      return null;
    }
    const start = this.#position;
    this.#position += size;
    return start;
  }
}

export type ReaderState =
  | { readonly state: 'more' }
  | { readonly state: 'done'; readonly hello: Extract<HelloReading, { ok: true }>['hello'] }
  | { readonly state: 'refused'; readonly problem: HelloProblem | 'too_large'; readonly message: string };

/** Real ones have 200 bytes to 2 KB, including post-quantum key shares. */
export const MAX_HELLO_BYTES = 16 * 1024;

const HANDSHAKE = 22;
const RECORD_HEADER_BYTES = 5;
/** RFC 8446 §5.1. */
const MAX_RECORD_BYTES = 16 * 1024;
const MORE: ReaderState = { state: 'more' };

/**
 * Collects the first bytes of a connection, in pieces of any size, until the ClientHello is complete. The message may
 * span several records. Parsed bytes are not parsed again with the next piece, so that a client that sends byte by byte
 * costs little more than its packets.
 */
export class HelloReader {
  readonly #maxBytes: number;
  /** Everything received; `#length` bytes of it are filled. */
  #bytes: Buffer = Buffer.alloc(0);
  #length = 0;
  /** Where the next record starts. */
  #position = 0;
  /** The message so far, `#messageLength` bytes; a view of the first record while there is no other. */
  #message: Buffer = Buffer.alloc(0);
  #messageLength = 0;

  constructor(maxBytes = MAX_HELLO_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** Everything that was pushed. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  push(chunk: Buffer): ReaderState {
    this.#append(chunk);
    for (;;) {
      const headerProblem = this.#headerProblem();
      if (headerProblem !== null) return headerProblem;
      const end = this.#recordEnd();
      if (end === null || end > this.#length) break;
      const fragment = this.#bytes.subarray(this.#position + RECORD_HEADER_BYTES, end);
      this.#position = end;
      const state = stateOf(this.#gather(fragment), this.#maxBytes);
      if (state !== MORE) return state;
    }
    return this.#length >= this.#maxBytes ? tooLarge() : MORE;
  }

  #append(chunk: Buffer): void {
    this.#bytes = appended(this.#bytes, this.#length, chunk);
    this.#length += chunk.length;
  }

  /** The message so far. Copying all of it for each record would take quadratic time over records of one byte. */
  #gather(fragment: Buffer): Buffer {
    this.#message = appended(this.#message, this.#messageLength, fragment);
    this.#messageLength += fragment.length;
    return this.#message.subarray(0, this.#messageLength);
  }

  /**
   * Checks as much of the header as has arrived: a client with another protocol is rejected immediately, not after the
   * deadline.
   */
  #headerProblem(): ReaderState | null {
    const available = this.#length - this.#position;
    if (available >= 1 && this.#bytes[this.#position] !== HANDSHAKE) return notTls();
    if (available >= 2 && this.#bytes[this.#position + 1] !== 3) return notTls();
    if (available < RECORD_HEADER_BYTES) return null;
    const length = this.#bytes.readUInt16BE(this.#position + 3);
    const isAllowed = length > 0 && length <= MAX_RECORD_BYTES;
    return isAllowed ? null : { state: 'refused', problem: 'malformed', message: 'a record is empty or too long' };
  }

  #recordEnd(): number | null {
    if (this.#length - this.#position < RECORD_HEADER_BYTES) return null;
    return this.#position + RECORD_HEADER_BYTES + this.#bytes.readUInt16BE(this.#position + 3);
  }
}

/**
 * A buffer with the chunk appended after `length` bytes: the given one if it has room, otherwise one twice as large.
 */
function appended(bytes: Buffer, length: number, chunk: Buffer): Buffer {
  if (length === 0) return chunk;
  const needed = length + chunk.length;
  const target = needed <= bytes.length ? bytes : Buffer.allocUnsafeSlow(Math.max(needed, 2 * length, 2048));
  if (target !== bytes) bytes.copy(target, 0, 0, length);
  chunk.copy(target, length);
  return target;
}

function stateOf(message: Buffer, maxBytes: number): ReaderState {
  // Decided by its first byte, before waiting for the rest.
  if (message[0] !== CLIENT_HELLO)
    return { state: 'refused', problem: 'malformed', message: 'it is not a ClientHello' };
  const length = messageLength(message);
  if (length === null || length > message.length) return length !== null && length > maxBytes ? tooLarge() : MORE;
  // RFC 8446 §5.1: nothing may share the record with the end of a ClientHello, because the keys change after it.
  if (length < message.length)
    return { state: 'refused', problem: 'malformed', message: 'something follows in the same record' };
  const reading = readClientHello(message);
  return reading.ok
    ? { state: 'done', hello: reading.hello }
    : { state: 'refused', problem: reading.problem, message: reading.message };
}

function tooLarge(): ReaderState {
  return { state: 'refused', problem: 'too_large', message: 'it is larger than any real one' };
}

function notTls(): ReaderState {
  return { state: 'refused', problem: 'not_tls', message: 'the bytes are not those of TLS' };
}

interface PeekLimits {
  readonly timeoutMs: number;
  readonly maxBytes?: number;
}

/** `timeout`: silent or slow. `closed`: the client disconnected first. */
export type PeekFailure = HelloProblem | 'too_large' | 'timeout' | 'closed';

export type PeekResult =
  | { readonly ok: true; readonly hello: ClientHello }
  | { readonly ok: false; readonly reason: PeekFailure; readonly message: string; readonly bytes: Buffer };

/**
 * Reads the ClientHello from a socket and puts its bytes back, so that a TLS server can take the socket over unchanged.
 * The deadline covers the whole message: a byte now and then does not extend it. Calls `done` once, and leaves an open
 * socket open.
 */
export function peekClientHello(socket: Socket, limits: PeekLimits, done: (result: PeekResult) => void): void {
  const reader = new HelloReader(limits.maxBytes ?? MAX_HELLO_BYTES);
  const owner = closing(socket, 'ClientHello');
  const onTimeout = guarded(owner, () => fail('timeout', 'the ClientHello did not come in time'));
  const timer = setTimeout(onTimeout, limits.timeoutMs);
  const finish = (result: PeekResult) => {
    clearTimeout(timer);
    socket.off('readable', onReadable);
    socket.off('end', onClosed);
    socket.off('close', onClosed);
    done(result);
  };
  const fail = (reason: PeekFailure, message: string) => finish({ ok: false, reason, message, bytes: reader.bytes });
  const onClosed = guarded(owner, () => fail('closed', 'the client went away before its ClientHello was whole'));
  const onReadable = guarded(owner, () => {
    for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null) {
      const reading = reader.push(chunk);
      if (reading.state === 'more') continue;
      if (reading.state === 'refused') return fail(reading.problem, reading.message);
      socket.unshift(reader.bytes);
      return finish({ ok: true, hello: reading.hello });
    }
  });
  attach(socket, 'readable', onReadable);
  attach(socket, 'end', onClosed);
  attach(socket, 'close', onClosed);
}
