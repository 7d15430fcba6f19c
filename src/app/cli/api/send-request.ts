import { PosternConnectionError } from '../../../client/call-errors.ts';
import { queryString } from '../../../client/fill-path.ts';
import type { AnyOptions } from '../../../client/request-options.ts';
import { nextQuery } from '../../../client/resource-client.ts';
import type { ApiRequest, RawAnswer, Transport } from '../../../client/transport.ts';
import type { JsonObject, JsonValue } from '../../../kit/json.ts';
import { parseAnswer } from './show-answer.ts';

export interface ParsedAnswer {
  /** The last response. */
  readonly raw: RawAnswer;
  readonly body: JsonObject | null;
}

export async function sendOnce(transport: Transport, request: ApiRequest, options: AnyOptions): Promise<ParsedAnswer> {
  const raw = await transport.send(request, options);
  try {
    return { raw, body: parseAnswer(raw.text) };
  } catch (cause) {
    throw new PosternConnectionError('not_postern', 'the response is not JSON', { cause });
  }
}

/** All pages as one response: all items, and no next page. */
export async function sendForAll(transport: Transport, request: ApiRequest, listKey: string): Promise<ParsedAnswer> {
  const items: JsonValue[] = [];
  const [path = ''] = request.path.split('?');
  let next: ApiRequest = request;
  for (;;) {
    const { raw, body } = await sendOnce(transport, next, {});
    items.push(...((body?.[listKey] ?? []) as readonly JsonValue[]));
    const uri = body?.['next_page_uri'];
    if (typeof uri === 'string') {
      next = { ...request, path: `${path}${queryString(nextQuery(uri))}` };
      continue;
    }
    const whole = { ...body, [listKey]: items };
    return { raw: { ...raw, text: JSON.stringify(whole) }, body: whole };
  }
}
