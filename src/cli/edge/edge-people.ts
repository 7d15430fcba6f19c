import { type Flag, type ParsedFlags, usage } from '../../lib/flags.ts';
import { emailAddress } from '../../lib/text/email-address.ts';
import type { WantedPeople } from '../../publish/wanted-edge.ts';

const EMAILS: Flag = {
  name: 'allow-email',
  kind: 'list',
  hint: 'ADDRESS,…',
  description: 'Let in only people with one of these verified addresses.',
};

const EMAIL_DOMAIN: Flag = {
  name: 'allow-email-domain',
  kind: 'list',
  hint: 'DOMAIN,…',
  description: 'Let in only people with a verified address of this domain.',
};

const GROUPS: Flag = {
  name: 'allow-groups',
  kind: 'list',
  hint: 'GROUP,…',
  description: 'Let in only members of one of these groups.',
};

export const PEOPLE_FLAGS: readonly Flag[] = [EMAILS, EMAIL_DOMAIN, GROUPS];

export function parsePeople(parsed: ParsedFlags): WantedPeople {
  return { emails: emailsOf(parsed), emailDomains: emailDomainsOf(parsed), groups: groupsOf(parsed) };
}

function groupsOf(parsed: ParsedFlags): readonly string[] {
  const groups = itemsOf(parsed, GROUPS);
  if (groups.includes('')) throw usage('--allow-groups requires names of groups: --allow-groups ops,support');
  return groups;
}

function emailDomainsOf(parsed: ParsedFlags): readonly string[] {
  const domains = itemsOf(parsed, EMAIL_DOMAIN).map((each) => each.toLowerCase().replace(/^@/, ''));
  if (domains.some((domain) => !/^[\w-]+(\.[\w-]+)+$/.test(domain))) {
    throw usage('--allow-email-domain requires a domain: --allow-email-domain example.com');
  }
  return domains;
}

function emailsOf(parsed: ParsedFlags): readonly string[] {
  const read = itemsOf(parsed, EMAILS).map(emailAddress);
  const emails = read.flatMap((each) => (each?.isPlain === true ? [each.text] : []));
  if (emails.length < read.length) {
    throw usage('--allow-email requires addresses: --allow-email ana@example.com,ben@example.com');
  }
  return [...new Set(emails)];
}

function itemsOf({ values }: ParsedFlags, { name }: Flag): readonly string[] {
  const given = (values.get(name) ?? []).flatMap((value) => value.split(','));
  return [...new Set(given.map((each) => each.trim()))];
}
