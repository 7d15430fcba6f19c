import { targetText } from '../../../../src/client/publish/plan-parts.ts';
import type { WantedEdge } from '../../../../src/client/publish/wanted-edge.ts';
import { rangeText } from '../../../../src/kit/net/range-text.ts';
import { localTime } from '../../format/times.ts';
import { urlOf } from './publish-request.ts';

/** What happens when the site is published. */
export function sentencesOf(wanted: WantedEdge): readonly string[] {
  return [`${urlOf(wanted)} will be served.`, targetSentence(wanted), ...entrySentences(wanted)];
}

export function targetSentence({ target }: WantedEdge): string {
  return target.kind === 'page'
    ? `Every request gets the page that you wrote, with status ${target.status}.`
    : `Requests go to ${targetText(target)}.`;
}

export function entrySentences(wanted: WantedEdge): readonly string[] {
  const { addresses = [], guests, login, passwords = [] } = wanted;
  const hasMore = guests !== undefined || login !== null || passwords.length > 0;
  if (addresses.length === 0 || !hasMore) return choiceSentences(wanted);
  return [...choiceSentences(wanted), `They may enter from ${addresses.map(rangeText).join(', ')} only.`];
}

function choiceSentences(wanted: WantedEdge): readonly string[] {
  const { login, addresses = [], guests, passwords = [] } = wanted;
  const people = peopleText(wanted);
  if (guests !== undefined) {
    const who = guests.label === '' ? 'a guest' : guests.label;
    return [
      `Only browsers with a guest link may enter.`,
      `A link for ${who} is made, for one browser, until ${localTime(guests.expiresAt)}.`,
    ];
  }
  if (passwords.length > 0) {
    const names = passwords.map(({ username }) => username).join(', ');
    return [`Browsers ask for a user name and a password: that of ${names}.`];
  }
  if (login === null && addresses.length > 0)
    return [`Everybody may enter from ${addresses.map(rangeText).join(', ')}, and from nowhere else.`];
  if (login === null) return ['Everybody who can reach this server may enter, without a login.'];
  const place = login.clientId === '' ? 'with an account of this installation' : `at ${login.issuer}`;
  const others = people === '' ? 'Everybody who can log in there may enter.' : `Only ${people} may enter.`;
  const asked = login.scopes === undefined ? [] : [`The login asks the provider for ${login.scopes.join(', ')}.`];
  return [`People log in ${place}.`, others, ...asked];
}

/** All parts count. */
function peopleText({ emails, emailDomains, groups }: WantedEdge): string {
  const parts = [
    ...(emails.length > 0 ? [emails.join(', ')] : []),
    ...(emailDomains.length > 0 ? [`people of ${emailDomains.join(', ')}`] : []),
    ...(groups.length > 0 ? [`members of ${groups.join(' or ')}`] : []),
  ];
  return parts.join(' who are also ');
}
