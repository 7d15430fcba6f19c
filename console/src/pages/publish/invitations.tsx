import { useState } from 'preact/hooks';
import type { WantedEdge } from '../../../../src/client/publish/wanted-edge.ts';
import { asApiError } from '../../api/api-error.ts';
import { get, request } from '../../api/request.ts';
import { isAllowed } from '../../api/scopes.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import type { Document } from '../../api/use-pages.ts';
import { CopyBox } from '../../components/copy-box.tsx';
import { textAt } from '../../format/text.ts';
import { href } from '../../router/location.ts';

interface Invited {
  readonly email: string;
  readonly text: string;
  /** Shown only once; null: there is none. */
  readonly link: string | null;
}

/** A site for people who have no account lets nobody in: they are invited from here. */
export function Invitations({ wanted }: { wanted: WantedEdge }) {
  const { emails } = wanted;
  const missing = useLoaded(`accounts of ${emails.join()}`, (abort) => withoutAccount(emails, abort));
  const [invited, setInvited] = useState<readonly Invited[]>([]);
  const [isBusy, setBusy] = useState(false);
  if (emails.length === 0)
    return (
      <p>
        Everybody with an account here can log in. <a href={href('/people')}>Invite people</a>
      </p>
    );
  if (invited.length > 0)
    return (
      <>
        <p>Send each person their link and the address of the site. The links work once, and are not shown again.</p>
        {invited.map(({ email, text, link }) => (
          <section key={email} class="stack-small" aria-label={email}>
            <h3 dir="auto">{email}</h3>
            <p>{text}</p>
            {link !== null && <CopyBox text={link} />}
          </section>
        ))}
      </>
    );
  if (missing.data === null || missing.data.length === 0) return null;
  const invite = async (people: readonly string[]): Promise<void> => {
    setBusy(true);
    const done: Invited[] = [];
    for (const email of people) done.push(await invitationOf(email, wanted.groups));
    setInvited(done);
  };
  const people = missing.data;
  return (
    <>
      <p dir="auto">{`No account yet: ${people.join(', ')}. They need one to log in.`}</p>
      {isAllowed('user_accounts:write') ? (
        <div class="line">
          <button type="button" class="primary" disabled={isBusy} onClick={() => void invite(people)}>
            {people.length === 1 ? 'Invite this person' : `Invite these ${people.length} people`}
          </button>
        </div>
      ) : (
        <p class="hint">An administrator can invite them.</p>
      )}
    </>
  );
}

async function withoutAccount(emails: readonly string[], abort: AbortSignal): Promise<readonly string[]> {
  if (emails.length === 0 || !isAllowed('user_accounts:read')) return [];
  const found = await Promise.all(
    emails.map(async (email) => {
      const filter = encodeURIComponent(`obj.email == ${JSON.stringify(email)}`);
      const page = await get<{ user_accounts: readonly Document[] }>(`/user_accounts?limit=1&filter=${filter}`, abort);
      return page.user_accounts.length > 0;
    }),
  );
  return emails.filter((_, index) => found[index] === false);
}

async function invitationOf(email: string, groups: readonly string[]): Promise<Invited> {
  try {
    const { data } = await request<Document>('POST', '/user_accounts', { body: { email, groups } });
    const sentTo = textAt(data, 'invitation_sent_to');
    const text = sentTo === '' ? 'No mail is sent.' : 'A mail with this link is on its way.';
    return { email, text, link: textAt(data, 'invitation_url') };
  } catch (error) {
    return { email, text: asApiError(error).message, link: null };
  }
}
