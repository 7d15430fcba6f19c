import { createSocket } from 'node:dgram';
import { connect, isIPv6 } from 'node:net';
import { failureCode } from '../../../kit/error-text.ts';
import { type ListenerOwner, listen } from '../../../kit/guarded-listeners.ts';
import { GatheredBytes } from '../../../kit/net/waiting-bytes.ts';
import { type ReadMessage, readMessage } from '../dns-messages.ts';

export interface ServerAddress {
  readonly address: string;
  readonly port: number;
}

export interface ReceivedMessage {
  readonly bytes: Buffer;
  readonly message: ReadMessage;
}

/** A server that cannot be asked: `code` is such as `ETIMEDOUT` or `ENETUNREACH`. */
export class ExchangeFailure extends Error {
  readonly code: string;

  constructor(code: string) {
    super(code === 'ETIMEDOUT' ? 'it did not answer in time' : `it cannot be reached (${code})`);
    this.name = 'ExchangeFailure';
    this.code = code;
  }
}

const MAX_BYTES = 65_537;

/** Sends a message over UDP, and waits for the response with its id and question. */
export function exchangeOverUdp(
  { address, port }: ServerAddress,
  request: Buffer,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<ReceivedMessage> {
  return settled(timeoutMs, signal, (done, owner) => {
    const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
    listen(socket, 'error', owner, (error: Error) => done(new ExchangeFailure(failureCode(error))));
    listen(socket, 'message', owner, (bytes: Buffer) => {
      const received = responseTo(request, bytes);
      if (received !== null) done(received);
    });
    // A connected socket receives from this server only, and learns that nothing listens there.
    listen(socket, 'connect', owner, () => socket.send(request));
    socket.connect(port, address);
    return () => socket.close();
  });
}

/** As over UDP, for longer messages, and for those that must not be lost. */
export function exchangeOverTcp(
  { address, port }: ServerAddress,
  request: Buffer,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<ReceivedMessage> {
  return settled(timeoutMs, signal, (done, owner) => {
    const socket = connect({ host: address, port });
    const gathered = new GatheredBytes();
    const broken = (code: string) => done(new ExchangeFailure(code));
    listen(socket, 'error', owner, (error: Error) => broken(failureCode(error)));
    listen(socket, 'close', owner, () => broken('ECONNRESET'));
    listen(socket, 'connect', owner, () => {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(request.length);
      socket.write(Buffer.concat([length, request]));
    });
    listen(socket, 'data', owner, (chunk: Buffer) => {
      gathered.add(chunk);
      if (gathered.length < 2) return;
      const bytes = gathered.whole();
      const end = 2 + bytes.readUInt16BE(0);
      if (bytes.length < end && bytes.length < MAX_BYTES) return;
      done(responseTo(request, bytes.subarray(2, end)) ?? new ExchangeFailure('EBADMSG'));
    });
    return () => socket.destroy();
  });
}

function responseTo(request: Buffer, bytes: Buffer): ReceivedMessage | null {
  const message = readMessage(bytes);
  const asked = readMessage(request);
  if (message === null || asked === null || !message.isResponse || message.id !== asked.id) return null;
  // A server that cannot read the message, or refuses it, may leave the question out.
  const isSame = message.question === null || message.question.name === asked.question?.name;
  return isSame ? { bytes, message } : null;
}

type Outcome = ReceivedMessage | ExchangeFailure;

function settled(
  timeoutMs: number,
  signal: AbortSignal,
  start: (done: (outcome: Outcome) => void, owner: ListenerOwner) => () => void,
): Promise<ReceivedMessage> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    let close: (() => void) | null = null;
    const done = (outcome: Outcome): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      close?.();
      if (outcome instanceof ExchangeFailure) reject(outcome);
      else resolve(outcome);
    };
    const stop = (): void => done(new ExchangeFailure('ECANCELED'));
    const timer = setTimeout(() => done(new ExchangeFailure('ETIMEDOUT')), timeoutMs);
    close = start(done, { contain: () => done(new ExchangeFailure('EPROTO')) });
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
  });
}
