import type { ClientRequest, IncomingMessage } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import { messageOf } from '../../../../kit/error-text.ts';
import { Agent, request } from '../../../../kit/http/node-http.ts';
import { type EngineAddress, engineText } from './engine-address.ts';

const ANSWERS_WITHIN_MS = 5_000;
const OPENS_WITHIN_MS = 500;
const MAX_LIST_BYTES = 33_554_432;
const MAX_ITEM_BYTES = 1_048_576;
const CONNECTIONS = 8;
const MAX_REASON = 200;

/** The engine answered with something else than what was asked for. Other errors mean that it was not reached. */
export class EngineAnswerError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface EventStream {
  /** Resolves when the engine has accepted it. */
  readonly opened: Promise<void>;
  /** Resolves with the reason. */
  readonly ended: Promise<string>;
  close(): void;
}

/** The API of Docker or Podman. It sends GET and nothing else, so a read-only proxy in front of the socket suffices. */
export class EngineClient {
  readonly #address: EngineAddress;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS, timeout: 30_000 });

  constructor(address: EngineAddress) {
    this.#address = address;
  }

  get name(): string {
    return engineText(this.#address);
  }

  /** Running containers. */
  list(): Promise<unknown> {
    return this.#json('/containers/json', MAX_LIST_BYTES);
  }

  inspect(id: string): Promise<unknown> {
    return this.#json(`/containers/${encodeURIComponent(id)}/json`, MAX_ITEM_BYTES);
  }

  /**
   * Events as they happen. Not filtered by the engine: the filters of Podman lose some. A line that is too long ends
   * the stream, like everything else that is not an event.
   */
  events(onEvent: (event: unknown) => void): EventStream {
    const opened = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<string>();
    opened.promise.catch(() => {});
    const sent = this.#request('/events', false, (response) => {
      if (response.statusCode !== 200) {
        opened.reject(new EngineAnswerError(response.statusCode ?? 0, `GET /events answered ${response.statusCode}`));
        ended.resolve(`GET /events answered ${response.statusCode}`);
        response.destroy();
        return;
      }
      opened.resolve();
      const lines = new LineReader(MAX_ITEM_BYTES);
      response.on('data', (chunk: Buffer) => {
        for (const line of lines.read(chunk)) onEvent(parsed(line));
        if (lines.isTooLong) response.destroy(new Error('an event is too long'));
      });
      response.on('error', (error) => ended.resolve(messageOf(error)));
      response.on('close', () => ended.resolve('the event stream ended'));
    });
    sent.setTimeout(0);
    // An engine may send the head only with the first event, hours later.
    const timer = setTimeout(() => opened.resolve(), OPENS_WITHIN_MS);
    void ended.promise.finally(() => clearTimeout(timer));
    sent.on('error', (error) => {
      opened.reject(error);
      ended.resolve(messageOf(error));
    });
    return { opened: opened.promise, ended: ended.promise, close: () => sent.destroy() };
  }

  close(): void {
    this.#agent.destroy();
  }

  #request(
    path: string,
    agent: InstanceType<typeof Agent> | false,
    onResponse: (response: IncomingMessage) => void,
  ): ClientRequest {
    const sent = request(
      {
        ...this.#place(),
        method: 'GET',
        path,
        agent,
        headers: { host: 'docker', accept: 'application/json' },
        maxHeaderSize: 65_536,
      },
      onResponse,
    );
    sent.end();
    return sent;
  }

  #place(): { readonly socketPath: string } | { readonly host: string; readonly port: number } {
    const address = this.#address;
    return 'socketPath' in address ? { socketPath: address.socketPath } : { host: address.host, port: address.port };
  }

  #json(path: string, maxBytes: number): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const shown = path.replace(/(\/[0-9a-f]{12})[0-9a-f]+/, '$1');
    const sent = this.#request(path, this.#agent, (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      const status = response.statusCode ?? 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes <= maxBytes) chunks.push(chunk);
        else {
          reject(new EngineAnswerError(status, `the answer to GET ${shown} is longer than ${maxBytes} bytes`));
          sent.destroy();
        }
      });
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        if (status !== 200) {
          const reason = text
            .slice(0, MAX_REASON)
            .replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ')
            .trim();
          reject(new EngineAnswerError(status, `GET ${shown} answered ${status}: ${reason}`));
          return;
        }
        const value = parsed(text);
        if (value === undefined) reject(new EngineAnswerError(status, `the answer to GET ${shown} is not JSON`));
        else resolve(value);
      });
      response.on('close', () => reject(new Error('the connection was closed')));
    });
    const timer = setTimeout(() => {
      reject(new EngineAnswerError(0, `GET ${shown} was not answered within ${ANSWERS_WITHIN_MS / 1000} s`));
      sent.destroy();
    }, ANSWERS_WITHIN_MS);
    sent.on('error', reject);
    return promise.finally(() => clearTimeout(timer));
  }
}

/** Splits a stream into lines of bounded length. */
class LineReader {
  readonly #maxLength: number;
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';
  isTooLong = false;

  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  /** The lines that are complete, without empty ones. */
  read(chunk: Buffer): readonly string[] {
    if (this.isTooLong) return [];
    const lines = (this.#rest + this.#decoder.write(chunk)).split('\n');
    this.#rest = lines.pop() ?? '';
    this.isTooLong = this.#rest.length > this.#maxLength;
    return lines.map((line) => line.trim()).filter((line) => line !== '');
  }
}

/** Undefined: not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
