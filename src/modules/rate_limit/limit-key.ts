import { isToken } from '../../lib/http1/header-names.ts';
import { ownerOf } from '../../lib/net/address-owner.ts';
import type { Identity } from '../contract/recognizes-requesters.ts';
import type { TrafficRequest } from '../contract/traffic-request.ts';

const HEADER = 'header:';
export const MAX_HEADER_NAME_LENGTH = 64;
/** Values of headers that begin in the same way count as one: the time of a hash grows with its text. */
const MAX_VALUE_LENGTH = 1_024;
/** Before what is no address, so that nobody can send the text of an address in a header. */
const MARK = '=';

/** What requests are counted by. */
export interface LimitKey {
  /** It needs to know who sends the request, so it is asked after `access`. */
  readonly isLater: boolean;
  /** Requests with the same text count together. */
  readonly textOf: (request: TrafficRequest) => string;
}

/** In the form that is stored; null: there is no such key. */
export function normalizedKey(text: string): string | null {
  if (text === 'address' || text === 'route' || text === 'user' || text === 'service_account') return text;
  if (!text.startsWith(HEADER)) return null;
  const name = text.slice(HEADER.length);
  return isToken(name) && name.length <= MAX_HEADER_NAME_LENGTH ? text.toLowerCase() : null;
}

export function limitKey(text: string): LimitKey {
  switch (text) {
    case 'address':
      return { isLater: false, textOf: addressOf };
    case 'route':
      return { isLater: false, textOf: () => '' };
    case 'user':
      return { isLater: true, textOf: (request) => textOfRequester(request, ({ kind }) => kind === 'user') };
    case 'service_account':
      return { isLater: true, textOf: (request) => textOfRequester(request, isProgram) };
    default: {
      const name = text.slice(HEADER.length);
      return { isLater: false, textOf: (request) => marked(request.header(name)) ?? addressOf(request) };
    }
  }
}

function addressOf({ clientAddress }: TrafficRequest): string {
  return ownerOf(clientAddress);
}

function textOfRequester(request: TrafficRequest, isMeant: (identity: Identity) => boolean): string {
  const identity = request.permit?.identity;
  return identity !== undefined && isMeant(identity) ? `${MARK}${identity.kind} ${identity.id}` : addressOf(request);
}

/** A workload is a program with a token of another issuer. */
function isProgram({ kind }: Identity): boolean {
  return kind === 'service_account' || kind === 'workload';
}

function marked(value: string | undefined): string | undefined {
  return value === undefined || value === '' ? undefined : `${MARK}${value.slice(0, MAX_VALUE_LENGTH)}`;
}
