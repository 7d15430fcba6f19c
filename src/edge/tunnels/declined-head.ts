import { firstValue } from '../../lib/http/header-values.ts';
import { TUNNEL_STATUS_HEADER } from '../../tunnel/protocol.ts';
import type { ResponseHead } from '../../upstream/upstream.ts';

const SUCCESS = /^2[0-9]{2}$/;

/**
 * The response of a service that did not agree to switch protocols, as the service sent it. Between agent and edge a 2xx
 * would mean that it did (RFC 8441 §5), so the agent sends the status of such a response in a header. Null: no service
 * can have sent this.
 */
export function declinedHead(head: ResponseHead): ResponseHead | null {
  const value = firstValue(head.headers, TUNNEL_STATUS_HEADER);
  if (value === undefined) return head;
  const status = Number(value);
  if (!SUCCESS.test(value) || (status === 204 && head.bodyBytes !== 0)) return null;
  return { ...head, status };
}
