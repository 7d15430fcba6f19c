import { type Answer, answer, type ResponseInfo } from './answer.ts';
import { PosternConnectionError } from './call-errors.ts';
import { fillPath, queryString } from './fill-path.ts';
import type { AnyOptions, RequestOptions } from './request-options.ts';
import type { Transport } from './transport.ts';

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With placeholders such as `{id}`. */
  readonly path: string;
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: object | undefined;
  readonly body?: object | undefined;
}

/** Base of the generated classes, which only add method, path and types. */
export class ResourceClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  protected async call<Body extends object>(call: Call, options: AnyOptions | undefined): Promise<Answer<Body>> {
    const { text, info } = await this.#transport.send(requestOf(call), options);
    return answer(parseBody<Body>(text), info);
  }

  /** For operations that return 204. */
  protected async callForNothing(call: Call, options: AnyOptions | undefined): Promise<ResponseInfo> {
    return (await this.#transport.send(requestOf(call), options)).info;
  }

  /** Iterates over every page, newest first. The next page is fetched when the loop reaches it. */
  protected async *eachItem<Item>(
    call: Call,
    listKey: string,
    options: RequestOptions | undefined,
  ): AsyncGenerator<Item, void, undefined> {
    let query = call.query;
    for (;;) {
      const page: Readonly<Record<string, unknown>> = await this.call({ ...call, query }, options);
      yield* page[listKey] as readonly Item[];
      const next = page['next_page_uri'];
      if (typeof next !== 'string') return;
      query = nextQuery(next);
    }
  }
}

/**
 * Takes only the query: the URI contains the server's own name for itself, and the key is sent to the base URL only.
 */
export function nextQuery(nextPageUri: string): Readonly<Record<string, string>> {
  return Object.fromEntries(new URL(nextPageUri).searchParams);
}

function requestOf({ method, path, params = {}, query, body }: Call) {
  return { method, path: `${fillPath(path, params)}${queryString(query)}`, ...(body !== undefined && { body }) };
}

function parseBody<Body extends object>(text: string): Body {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as Body;
  } catch {
    // Reported below, together with JSON that is not an object.
  }
  throw new PosternConnectionError(
    'not_postern',
    'the response is not JSON: check that baseUrl is the address of the Postern API',
  );
}
