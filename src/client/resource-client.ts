import { type Answer, answer, type ResponseInfo } from './answer.ts';
import { fillPath, queryString } from './fill-path.ts';
import { PosternConnectionError } from './postern-connection-error.ts';
import type { AnyOptions, RequestOptions } from './request-options.ts';
import type { Transport } from './transport.ts';

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With `{id}` and the like still in it. */
  readonly path: string;
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: object | undefined;
  readonly body?: object | undefined;
}

/** What the generated classes are made of: they only say method, path and types. */
export class ResourceClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  protected async call<Body extends object>(call: Call, options: AnyOptions | undefined): Promise<Answer<Body>> {
    const { text, info } = await this.#transport.send(requestOf(call), options);
    return answer(parseBody<Body>(text), info);
  }

  /** For operations that answer 204. */
  protected async callForNothing(call: Call, options: AnyOptions | undefined): Promise<ResponseInfo> {
    return (await this.#transport.send(requestOf(call), options)).info;
  }

  /** Goes through every page, newest first. The next page is fetched when the loop gets there. */
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

/** Only the query is taken: the URI names the server as it knows itself, and the key goes nowhere but to the base URL. */
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
    // Said below, together with JSON that is no object.
  }
  throw new PosternConnectionError('not_postern', 'the answer is not JSON: is baseUrl the address of the Postern API?');
}
