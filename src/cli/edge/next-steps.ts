import { shellWord } from '../../lib/text/shell-word.ts';
import { isOwnLogin, issuerOf } from '../../publish/edge-login.ts';
import { edgeUrl, redirectUri } from '../../publish/edge-url.ts';
import type { EdgePlan } from '../../publish/plan-edge.ts';
import type { WantedEdge } from '../../publish/wanted-edge.ts';
import { printable } from '../api/cell-text.ts';

/** What to do now. */
export function nextSteps(wanted: WantedEdge, plan: Pick<EdgePlan, 'edge' | 'route'>): readonly string[] {
  const url = edgeUrl(wanted, plan);
  const isOwn = isOwnLogin(wanted.login, plan.route);
  const hasLogin = !isOwn && (wanted.login !== null || issuerOf(plan.route) !== null);
  return [
    '',
    `Address:      ${printable(url)}`,
    ...(hasLogin ? [`Redirect URI: ${redirectUri(url)} (register it at the login provider)`] : []),
    `Try it:       curl -i ${shellWord(url)}`,
    'If curl does not trust the certificate: postern ca print > ca.pem, and add --cacert ca.pem',
  ];
}
