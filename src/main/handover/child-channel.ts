import type { ChildProcess } from 'node:child_process';
import { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';
import { ignoreErrors, type ListenerOwner, listen } from '../../lib/guarded-listeners.ts';
import type { ChannelEnd } from './channel.ts';
import type { HandoverMessage } from './messages.ts';

export const CHANNEL_DESCRIPTOR = 3;
/** The runtime of the new process opens its channel at this descriptor. */
export const CHANNEL_ENV = { NODE_CHANNEL_FD: String(CHANNEL_DESCRIPTOR), NODE_CHANNEL_SERIALIZATION_MODE: 'json' };
/** The longest message names the tunnels of all agents, and goes the other way. */
const MAX_LINE_CHARACTERS = 65_536;

/**
 * The old process's end of the runtime's channel to a child process: one JSON value per line. Not the runtime's own end,
 * which throws an exception that nobody can catch when the program writes something else to the descriptor, as shell
 * scripts do: that would end the server.
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
