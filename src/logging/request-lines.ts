import type { DestinationStream } from 'pino';

export interface RequestLogger {
  info(fields: object, message: string): void;
  /** Whether a person reads the lines, who knows people by their names. */
  readonly isForTerminal?: boolean;
}

const MAX_WAIT_MS = 50;
const MAX_BYTES = 65_536;

/**
 * Request lines in the common form, buffered briefly: a separate line and write per request cost more than answering
 * it. Any other log line, and the end of the process, flushes them first.
 */
export class RequestLines implements RequestLogger {
  readonly isForTerminal: boolean;
  readonly #output: DestinationStream;
  readonly #node: string;
  #gathered = '';
  #timer: NodeJS.Timeout | null = null;
  #second = 0;
  #secondText = '';

  constructor(output: DestinationStream, node?: string, isForTerminal = false) {
    this.isForTerminal = isForTerminal;
    this.#output = output;
    this.#node = node === undefined ? '' : `"node":${JSON.stringify(node)},`;
  }

  info(fields: object, message: string): void {
    this.#gathered += `{"level":"info","time":"${this.#now()}",${this.#node}${JSON.stringify(fields).slice(1, -1)},"msg":"${message}"}\n`;
    if (this.#gathered.length >= MAX_BYTES) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), MAX_WAIT_MS).unref();
  }

  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const text = this.#gathered;
    this.#gathered = '';
    if (text !== '') this.#output.write(text);
  }

  /** RFC 3339; all but the milliseconds are the same within a second. */
  #now(): string {
    const nowMs = Date.now();
    const second = Math.floor(nowMs / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#secondText = new Date(second * 1000).toISOString().slice(0, 20);
    }
    return `${this.#secondText}${String(nowMs % 1000).padStart(3, '0')}Z`;
  }
}
