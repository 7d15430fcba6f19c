import { type HeaderList, valuesOf } from '../../lib/http/header-list.ts';
import { isAuthority } from '../../lib/http/is-authority.ts';
import type { HeaderChange } from '../contract/changes-requests.ts';
import type { PreparePorts } from '../contract/prepare.ts';
import type { PreparedModule } from '../contract/prepared-module.ts';
import type { TrafficRequest } from '../contract/traffic-request.ts';
import { AddedHeaders } from '../header_changes/added-headers.ts';
import type { HeaderChangesState } from '../header_changes/header-changes.ts';
import type { HeaderConfig } from '../header_changes/header-config.ts';

/** Removes first, then adds. A name whose value the server vouches for is removed too: a visitor could have sent it. */
export function changeRequest(
  { add, remove }: HeaderConfig,
  { place, runtime }: PreparePorts<HeaderChangesState>,
): Pick<PreparedModule, 'transformRequest'> {
  const { host: hostValue, ...others } = add;
  const leftOut = (): void => runtime?.leftOut('request_headers');
  const headers = new AddedHeaders(others, leftOut);
  const host = hostValue === undefined ? null : new AddedHeaders({ host: hostValue }, leftOut);
  const removed = [...new Set([...remove, ...headers.vouchedNames])].filter((name) => name !== 'host');
  if (headers.fixed !== null && host === null) {
    const change: HeaderChange = { remove: removed, add: headers.fixed };
    return { transformRequest: () => change };
  }
  return {
    transformRequest: (request: TrafficRequest, sent: HeaderList): HeaderChange => {
      const source = { request, headerLines: (name: string) => valuesOf(sent, name), response: null, place };
      const [, replaced] = host === null ? [] : (host.fixed ?? host.list(source));
      const isHost = replaced !== undefined && isAuthority(replaced);
      if (replaced !== undefined && !isHost) leftOut();
      const change = { remove: removed, add: headers.fixed ?? headers.list(source) };
      return isHost ? { ...change, host: replaced } : change;
    },
  };
}
