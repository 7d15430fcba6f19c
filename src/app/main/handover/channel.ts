import type { ChildProcess } from 'node:child_process';
import { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';
import { ignoreErrors, type ListenerOwner, listen } from '../../../kit/guarded-listeners.ts';
import type { CommitMark } from '../../../store/store.ts';
import { mainErrors } from '../errors.ts';

/** What the process that hands over and the one that takes over send each other, on the channel between them. */

/** The process that takes over refuses an offer of another protocol: the old process then goes on. */
export const HANDOVER_PROTOCOL = 1;
/** Marks a process that was started to take over. */
export const HANDOVER_VARIABLE = 'POSTERN_HANDOVER';

export interface OfferedSocket {
  readonly name: string;
  readonly fd: number;
  readonly wanted: string;
  readonly address: { readonly host: string; readonly port: number };
}

/** The store of the process that hands over. */
export interface OfferedStore {
  readonly data_dir: string;
  /** Made for this handover: the store contains it, and no other one does. */
  readonly commit: CommitMark;
}

export type OldToNew =
  | {
      readonly t: 'offer';
      readonly protocol: number;
      readonly version: string;
      readonly sockets: readonly OfferedSocket[];
      readonly store: OfferedStore;
    }
  /** Accept agents. The old process accepts none from now on. */
  | { readonly t: 'accept_agents' }
  /** The agents with these tunnels were asked to connect again: report when they have. */
  | { readonly t: 'await_agents'; readonly tunnels: readonly string[] }
  /** Accept everything else. */
  | { readonly t: 'serve' }
  /** The old process delivers no more events. */
  | { readonly t: 'delivery_ended' };

export type NewToOld =
  /** Everything is loaded; it accepts nothing yet. */
  | { readonly t: 'prepared'; readonly version: string }
  | { readonly t: 'accepting_agents' }
  | { readonly t: 'agents_here'; readonly missing: number }
  | { readonly t: 'serving' }
  | { readonly t: 'failed'; readonly message: string };

type HandoverMessage = OldToNew | NewToOld;

/** A child process, or this process towards its parent. */
export interface ChannelEnd extends EventEmitter {
  send?(message: HandoverMessage, callback: (error: Error | null) => void): boolean;
}

type Named<Name extends HandoverMessage['t']> = Extract<HandoverMessage, { readonly t: Name }>;

/** Each name comes once or twice. The program may be another one than it should be. */
const MAX_WAITING = 64;

/** Messages in order, kept until somebody asks for them. */
export class Channel {
  readonly #end: ChannelEnd;
  readonly #received: HandoverMessage[] = [];
  readonly #closed = Promise.withResolvers<void>();
  #arrived = Promise.withResolvers<void>();
  #isClosed = false;

  constructor(end: ChannelEnd, owner: ListenerOwner) {
    this.#end = end;
    listen(end, 'message', owner, (message: unknown) => {
      if (!isMessage(message) || this.#received.length >= MAX_WAITING) return;
      this.#received.push(message);
      const arrived = this.#arrived;
      // Replaced here: every waiter of the old one looks, and none can miss the next message.
      this.#arrived = Promise.withResolvers<void>();
      arrived.resolve();
    });
    for (const event of ['disconnect', 'exit', 'error']) listen(end, event, owner, () => this.#close());
  }

  /** Resolves when the other process is gone, or has closed its end. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  send(message: HandoverMessage): void {
    // A failed send means that the other process is gone, which `closed` reports.
    if (!this.#isClosed) this.#end.send?.(message, () => {});
  }

  /** The next message with this name; null when the other process is gone first. */
  async next<Name extends HandoverMessage['t']>(...names: readonly Name[]): Promise<Named<Name> | null> {
    for (;;) {
      const at = this.#received.findIndex(({ t }) => (names as readonly string[]).includes(t));
      const found = this.#received[at];
      // The last word, for everybody who waits.
      if (found !== undefined && found.t !== 'failed') this.#received.splice(at, 1);
      if (found !== undefined) return found as Named<Name>;
      if (this.#isClosed) return null;
      await Promise.race([this.#arrived.promise, this.closed]);
    }
  }

  #close(): void {
    this.#isClosed = true;
    this.#closed.resolve();
  }
}

function isMessage(value: unknown): value is HandoverMessage {
  return typeof value === 'object' && value !== null && 't' in value && typeof value.t === 'string';
}

export const CHANNEL_DESCRIPTOR = 3;
/** The runtime of the new process opens its channel at this descriptor. */
export const CHANNEL_ENV = { NODE_CHANNEL_FD: String(CHANNEL_DESCRIPTOR), NODE_CHANNEL_SERIALIZATION_MODE: 'json' };
/** The longest message names the tunnels of all agents, and goes the other way. */
const MAX_LINE_CHARACTERS = 65_536;

/**
 * The old process's end of the runtime's channel to a child process: one JSON value per line. Not the runtime's own
 * end, which throws an exception that nobody can catch when the program writes something else to the descriptor, as
 * shell scripts do: that would end the server.
 */
export class ChildChannel extends EventEmitter implements ChannelEnd {
  readonly #child: ChildProcess;
  readonly #pipe: Duplex;
  #text = '';

  constructor(child: ChildProcess, owner: ListenerOwner) {
    super();
    this.#child = child;
    this.#pipe = child.stdio[CHANNEL_DESCRIPTOR] as Duplex;
    listen(child, 'error', owner, (error: Error) => this.emit('error', error));
    listen(child, 'exit', owner, () => this.emit('exit'));
    ignoreErrors(this.#pipe.setEncoding('utf8'));
    listen(this.#pipe, 'data', owner, (part: string) => this.#read(part));
    listen(this.#pipe, 'close', owner, () => this.emit('disconnect'));
  }

  send(message: HandoverMessage, callback: (error: Error | null) => void): boolean {
    return this.#pipe.write(`${JSON.stringify(message)}\n`, (error) => callback(error ?? null));
  }

  #read(part: string): void {
    const lines = `${this.#text}${part}`.split('\n');
    this.#text = lines.pop() ?? '';
    for (const line of lines) this.#line(line);
    if (this.#text.length > MAX_LINE_CHARACTERS) this.#foreign();
  }

  #line(line: string): void {
    if (this.#pipe.destroyed) return;
    try {
      this.emit('message', JSON.parse(line));
    } catch {
      this.#foreign();
    }
  }

  #foreign(): void {
    if (this.#pipe.destroyed) return;
    this.#pipe.destroy();
    const message = `process ${this.#child.pid} is no Postern server that can take over: it wrote something else than messages to descriptor ${CHANNEL_DESCRIPTOR}`;
    this.emit('message', { t: 'failed', message } satisfies HandoverMessage);
  }
}

export function handoverFailed(message: string): Error {
  return mainErrors.create('ERR_POSTERN_HANDOVER', message);
}
