import { PosternApiError } from '../../client/postern-api-error.ts';
import type { AnyOptions } from '../../client/request-options.ts';
import { type ApiRequest, type RawAnswer, Transport } from '../../client/transport.ts';
import type { CommandContext } from '../command.ts';
import { sayWhileSlow } from '../output/say-while-slow.ts';
import type { ApiAccess } from './api-access.ts';
import { fetchWith } from './api-fetch.ts';
import { keyAdvice } from './key-advice.ts';

const UNAUTHENTICATED = 401;
const SILENT = { isTerminal: false, warn: () => {} };

/** For commands that print only the message of an error: one about the key says which server rejected it, and where it came from. */
export class CommandTransport extends Transport {
  readonly #url: string;
  readonly #keySource: string;

  readonly #context: Pick<CommandContext, 'isTerminal' | 'warn'>;

  /** A command that says itself what it waits for has no `context` here. */
  constructor({ url, apiKey }: ApiAccess, context: Pick<CommandContext, 'isTerminal' | 'warn'> = SILENT) {
    super({ baseUrl: url, fetch: fetchWith(apiKey), apiKey: apiKey.key });
    this.#url = url;
    this.#keySource = apiKey.source;
    this.#context = context;
  }

  override async send(request: ApiRequest, options: AnyOptions = {}): Promise<RawAnswer> {
    try {
      const waiting = (): string => `waiting for ${this.#url}`;
      return await sayWhileSlow(this.#context, waiting, () => super.send(request, options));
    } catch (error) {
      if (!(error instanceof PosternApiError) || error.status !== UNAUTHENTICATED) throw error;
      const { code, status, operationId, details, retryAfterMs, text, message } = error;
      const advised = `${this.#url}: ${message} (${keyAdvice(this.#keySource)})`;
      throw new PosternApiError({ code, status, operationId, details, retryAfterMs, text, message: advised });
    }
  }
}
