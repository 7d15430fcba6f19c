import { join } from 'node:path';
import { PosternApiError, PosternConnectionError } from '../../../client/call-errors.ts';
import type { AnyOptions } from '../../../client/request-options.ts';
import { type ApiRequest, type RawAnswer, Transport } from '../../../client/transport.ts';
import { type ParsedFlags, usage } from '../../../kit/flags.ts';
import type { CommandContext } from '../command.ts';
import { printable } from '../output/cell-text.ts';
import { sayWhileSlow } from '../output/terminal.ts';
import { fetchWith } from './api-fetch.ts';
import { type ApiKey, keyAdvice, serverKeyVariable } from './api-key.ts';
import {
  apiUrl,
  dataDirectory,
  findApiKey,
  isOnThisMachine,
  isUrlGiven,
  KEY_FILE,
  localAnswer,
  trustRootCa,
} from './connection.ts';
import { connectionText, strangerAdvice } from './connection-text.ts';
import { createTextSource, type TextSource } from './text-source.ts';

interface ApiAccess {
  readonly url: string;
  readonly apiKey: ApiKey;
}

/** The API that the flags and the environment name, and the key for it. */
export async function apiAccess(parsed: ParsedFlags, context: CommandContext, source: TextSource): Promise<ApiAccess> {
  const url = await apiUrl(parsed, context);
  const apiKey = await findApiKey(url, parsed, context, source);
  if (apiKey === null) throw usage(await noKey(url, context, isUrlGiven(parsed, context)));
  await trustRootCa(parsed, source);
  // A token of this machine goes to this machine, whatever address it listens at.
  if (url.startsWith('http:') && !isOnThisMachine(url) && apiKey.renew === undefined)
    context.warn(`postern: warning: ${url} is not encrypted: the API key is sent in clear text`);
  return { url, apiKey };
}

/** Names what works here and now. */
async function noKey(url: string, context: CommandContext, isGiven: boolean): Promise<string> {
  const given = 'no API key: set POSTERN_CLI_API_KEY or --api-key-file FILE';
  if (isOnThisMachine(url)) {
    const { problem, isStarted } = await localAnswer(context);
    const dataDir = await dataDirectory(context);
    if (!isStarted && !isGiven)
      return `no server was started with the data directory ${dataDir}, and there is no API key for another one. Start it with "postern server", or run this in the folder of the server, or set POSTERN_DATA_DIR to its data directory. For a server elsewhere, set POSTERN_CLI_API_URL and POSTERN_CLI_API_KEY`;
    const why = problem ?? `the server with the data directory ${dataDir} serves another address than ${url}`;
    return `${given}. On the machine of the server, root and its user need none: ${why}. ${join(dataDir, KEY_FILE)} is missing or cannot be read; "postern store create-key" makes another key while the server is stopped`;
  }
  const isMeant = serverKeyVariable(context) !== null;
  return isMeant
    ? `${given}. POSTERN_API_KEY is the first key of a server, and is not sent to another machine`
    : `${given}. The console and "postern api api-keys create" make one. On the machine of the server, root and its user need none`;
}

/** The API that the flags and the environment name. */
export async function openTransport(
  parsed: ParsedFlags,
  context: CommandContext,
  source: TextSource = createTextSource(),
): Promise<Transport> {
  return new CommandTransport(await apiAccess(parsed, context, source), context);
}

const UNAUTHENTICATED = 401;
const SILENT = { isTerminal: false, warn: () => {} };

/**
 * For commands that print only the message of an error: one about the key says which server rejected it, and where it
 * came from.
 */
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

const EXIT_REFUSED = 1;
const EXIT_UNREACHABLE = 3;

/** Reports an error of the API or of the connection on one line. */
export async function runWithApi(
  context: CommandContext,
  run: () => Promise<number>,
  exitUnreachable = EXIT_UNREACHABLE,
): Promise<number> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof PosternApiError) && !(error instanceof PosternConnectionError)) throw error;
    context.warn(`postern: ${printable(textOf(error))}`);
    return error instanceof PosternApiError ? EXIT_REFUSED : exitUnreachable;
  }
}

function textOf(error: PosternApiError | PosternConnectionError): string {
  if (error instanceof PosternConnectionError) return connectionText(error);
  const advice = strangerAdvice(error);
  return advice === null ? error.message : `${error.message}. ${advice}`;
}
