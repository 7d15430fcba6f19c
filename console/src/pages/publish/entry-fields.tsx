import { redirectUri } from '../../../../src/client/publish/plan-edge.ts';
import type { WantedPassword } from '../../../../src/client/publish/wanted-edge.ts';
import { MAX_DAYS } from '../../../../src/control/resources/guest_links/link-expiry.ts';
import { isAllowed } from '../../api/scopes.ts';
import { type Choice, ChoiceList } from '../../components/choice-list.tsx';
import { PlainField } from '../../components/form/plain-field.tsx';
import { TimeInput } from '../../components/form/time-input.tsx';
import { type EntryKind, hostOf, type ServerFacts, scopesOf, wantedOf } from './draft.ts';
import { urlOf } from './publish-request.ts';
import type { DraftProps } from './target-fields.tsx';

type EntryProps = DraftProps & {
  readonly facts: ServerFacts;
  /** Somebody wanted to go on: what was not chosen is named. */
  readonly isTried: boolean;
};

export function EntryFields(props: EntryProps) {
  const { draft, onChange } = props;
  return (
    <ChoiceList<EntryKind>
      legend="Who may enter"
      name="entry"
      value={draft.entry}
      onChange={(entry) => onChange({ entry })}
      choices={choicesFor(props)}
      problem={(props.isTried && props.problems.entry) || null}
    />
  );
}

function choicesFor(props: EntryProps): readonly Choice<EntryKind>[] {
  const { facts } = props;
  return [
    { value: 'everybody', name: 'Everybody', hint: 'No login. The service decides by itself.' },
    {
      value: 'own',
      name: 'People of this installation',
      hint: 'They log in with the passkey of their account here.',
      unavailable:
        facts.ownIssuer === null
          ? 'Not possible yet: this server has no identity host. Set identity_host, and start it again.'
          : undefined,
      fields: (
        <>
          <PeopleFields {...props} />
          <MoreFields {...props} />
        </>
      ),
    },
    {
      value: 'password',
      name: 'People who know a password',
      hint: 'The browser asks for a user name and a password. For a few people, or for a program.',
      fields: (
        <>
          <PasswordFields {...props} />
          <MoreFields {...props} />
        </>
      ),
    },
    {
      value: 'provider',
      name: 'People of a login provider',
      hint: 'They log in at an OpenID provider, such as Google, Microsoft or Keycloak.',
      fields: (
        <>
          <ProviderFields {...props} />
          <MoreFields {...props} />
        </>
      ),
    },
    {
      value: 'addresses',
      name: 'Certain addresses',
      hint: 'Everybody in your office or your network, without a login.',
      unavailable: isAllowed('ip_policies:write') && isAllowed('ip_policy_rules:write') ? undefined : LACKS_SCOPE,
      fields: <AddressField {...props} label="Addresses and ranges" />,
    },
    {
      value: 'guest',
      name: 'A guest with a link',
      hint: 'Somebody without an account, until a time.',
      unavailable: isAllowed('guest_links:write') ? undefined : LACKS_SCOPE,
      fields: (
        <>
          <GuestFields {...props} />
          <MoreFields {...props} />
        </>
      ),
    },
  ];
}

const LACKS_SCOPE = 'Your scopes do not allow it.';

function AddressField({ draft, problems, onChange, label }: DraftProps & { readonly label: string }) {
  return (
    <PlainField
      id="publish-addresses"
      label={label}
      placeholder="203.0.113.0/24, 2001:db8::/32"
      value={draft.addresses}
      problem={problems.addresses ?? null}
      onChange={(addresses) => onChange({ addresses })}
    />
  );
}

/** What few sites need beside the choice. */
function MoreFields(props: DraftProps) {
  const isAllowedHere = isAllowed('ip_policies:write') && isAllowed('ip_policy_rules:write');
  if (!isAllowedHere) return null;
  return (
    <details open={props.draft.addresses !== ''}>
      <summary>More</summary>
      <AddressField {...props} label="Only from these addresses (optional)" />
    </details>
  );
}

function PasswordFields({ draft: { passwords, knownNames }, problems, onChange }: DraftProps) {
  const change = (at: number, changes: Partial<WantedPassword>): void =>
    onChange({ passwords: passwords.map((each, index) => (index === at ? { ...each, ...changes } : each)) });
  return (
    <>
      {passwords.map(({ username, password }, at) => (
        <div class="line" key={at}>
          <PlainField
            id={`publish-user-${at}`}
            label={at === 0 ? 'User name' : `User name ${at + 1}`}
            value={username}
            onChange={(text) => change(at, { username: text })}
          />
          <PlainField
            id={`publish-password-${at}`}
            label={at === 0 ? 'Password' : `Password ${at + 1}`}
            type="password"
            placeholder={knownNames.includes(username) ? 'unchanged' : 'at least 8 characters'}
            value={password}
            onChange={(text) => change(at, { password: text })}
          />
          {passwords.length > 1 && (
            <button
              type="button"
              class="small"
              aria-label={`Remove user ${at + 1}`}
              onClick={() => onChange({ passwords: passwords.filter((_, index) => index !== at) })}
            >
              Remove
            </button>
          )}
        </div>
      ))}
      {problems.passwords !== undefined && passwords.some(({ username }) => username !== '') && (
        <span class="problem" role="alert">
          {problems.passwords}
        </span>
      )}
      <div class="line">
        <button
          type="button"
          class="small"
          onClick={() => onChange({ passwords: [...passwords, { username: '', password: '' }] })}
        >
          Add a user
        </button>
      </div>
    </>
  );
}

function PeopleFields({ draft, problems, onChange }: DraftProps) {
  return (
    <>
      <PlainField
        id="publish-people"
        label="Only these people (optional)"
        placeholder="ana@example.com, or @example.com"
        hint="E-mail addresses or domains, with commas. Empty: everybody who can log in."
        value={draft.people}
        problem={problems.people ?? null}
        onChange={(people) => onChange({ people })}
      />
      <PlainField
        id="publish-groups"
        label="Only members of these groups (optional)"
        placeholder="ops, support"
        value={draft.groups}
        onChange={(groups) => onChange({ groups })}
      />
    </>
  );
}

function ProviderFields(props: EntryProps) {
  const { draft, problems, onChange, facts } = props;
  const host = hostOf(draft.host) || 'your-host';
  return (
    <>
      <PlainField
        id="publish-issuer"
        label="Issuer"
        placeholder="https://accounts.example.com"
        value={draft.issuer}
        problem={problems.issuer ?? null}
        onChange={(issuer) => onChange({ issuer })}
      />
      <p class="hint">
        Register an application there with the redirect URI <code class="wrap-anywhere">{redirectOf(host, props)}</code>
      </p>
      <PlainField
        id="publish-client-id"
        label="Client ID"
        value={draft.clientId}
        problem={problems.clientId ?? null}
        onChange={(clientId) => onChange({ clientId })}
      />
      <PlainField
        id="publish-client-secret"
        label="Client secret"
        type="password"
        value={draft.clientSecret}
        onChange={(clientSecret) => onChange({ clientSecret })}
      />
      <PeopleFields draft={draft} problems={problems} onChange={onChange} />
      <PlainField
        id="publish-scopes"
        label="Scopes"
        hint="What the rules above need. A provider that puts groups into tokens by itself may reject the scope groups: remove it then."
        value={draft.scopes ?? scopesOf(draft).join(' ')}
        onChange={(scopes) => onChange({ scopes })}
      />
      {facts.listenerPort !== 443 && <p class="hint">Visitors use port {facts.listenerPort}.</p>}
    </>
  );
}

function redirectOf(host: string, { draft, facts }: EntryProps): string {
  const url = urlOf(wantedOf({ ...draft, host }, facts));
  return URL.canParse(url) ? redirectUri(url) : '';
}

function GuestFields({ draft, problems, onChange }: DraftProps) {
  return (
    <>
      <PlainField
        id="publish-guest"
        label="For whom (optional)"
        placeholder="Ana, contractor"
        hint="For your own use. The guest does not see it."
        value={draft.guest}
        onChange={(guest) => onChange({ guest })}
      />
      <div class="field">
        <label for="publish-until">Until</label>
        <TimeInput
          id="publish-until"
          value={draft.guestUntil}
          describedBy="publish-until-hint"
          problem={problems.guestUntil ?? null}
          onChange={(guestUntil) => onChange({ guestUntil })}
        />
        <span class="hint" id="publish-until-hint">
          {`At most ${MAX_DAYS} days from now.`}
        </span>
      </div>
    </>
  );
}
