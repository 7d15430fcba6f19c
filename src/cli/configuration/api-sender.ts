import type { RequestOptions } from '../../client/request-options.ts';
import type { ApiRequest, RawAnswer } from '../../client/transport.ts';

/** What plans need of the API: a connection has it, and so has a server that asks itself. */
export interface ApiSender {
  send(request: ApiRequest, options?: Pick<RequestOptions, 'timeoutMs'>): Promise<Pick<RawAnswer, 'text'>>;
}
