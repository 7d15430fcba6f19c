import { type Answer, request } from '../../api/request.ts';
import { areAllowed } from '../../api/scopes.ts';
import { session } from '../../api/session-token.ts';
import type { Document } from '../../api/use-pages.ts';
import { write } from '../../api/write.ts';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import { EditButton } from '../../components/edit-button.tsx';
import { navigate } from '../../router/location.ts';
import type { ResourceType } from '../../schema/resource-types.ts';
import { InviteButton } from './invite-button.tsx';
import { personName } from './person-name.ts';

interface AccountActionsProps {
  readonly type: ResourceType;
  readonly path: string;
  readonly answer: Answer<Document>;
  readonly onChange: () => void;
}

/** What an administrator does with a person's account, as far as the scopes allow it. */
export function AccountActions({ type, path, answer, onChange }: AccountActionsProps) {
  const { update, remove } = type;
  const account = answer.data;
  const name = personName(account).slice(0, 80);
  const isActive = account['active'] !== false;
  const isOn = session.value?.identity_issuer !== null;
  if (update?.body == null || !areAllowed(update.scopes)) return null;
  const setActive = (active: boolean) => (confirmWithin: string | null) =>
    write({ method: 'PATCH', path, body: { active }, etag: answer.etag, confirmWithin });
  return (
    <>
      {isActive && isOn && <InviteButton path={path} account={account} onDone={onChange} />}
      <EditButton
        type={type}
        path={path}
        answer={answer}
        name={name}
        without={['active']}
        done="Account saved."
        onChange={onChange}
      />
      <ConfirmButton
        name="Log out everywhere"
        isDanger={false}
        question={`Log ${name} out everywhere?`}
        done={`${name} is logged out.`}
        act={() => request('POST', `${path}/sign_out`)}
        onDone={onChange}
      >
        <p>
          All logins of the person end within a second: on routes, in this console, at the identity host and at other
          applications. An open invitation link ends too. The passkeys stay.
        </p>
      </ConfirmButton>
      {isActive ? (
        <ConfirmButton
          name="Disable"
          question={`Disable ${name}?`}
          done={`${name} is disabled.`}
          offersTrial
          act={setActive(false)}
          onDone={onChange}
        >
          <p>
            The person cannot log in until you enable the account again. All their logins and their invitation link end
            within a second. The passkeys stay.
          </p>
        </ConfirmButton>
      ) : (
        <ConfirmButton
          name="Enable"
          isDanger={false}
          question={`Enable ${name}?`}
          done={`${name} is enabled.`}
          act={setActive(true)}
          onDone={onChange}
        >
          <p>
            The person can log in again with the passkeys that they have. Somebody without a passkey needs a new
            invitation.
          </p>
        </ConfirmButton>
      )}
      {remove !== null && areAllowed(remove.scopes) && (
        <ConfirmButton
          name="Delete"
          question={`Delete ${name}?`}
          done={`${name} is deleted.`}
          act={() => write({ method: 'DELETE', path, etag: answer.etag, confirmWithin: null })}
          onDone={() => navigate('/people?tab=user_accounts')}
        >
          <p>The account and its passkeys are deleted, and all logins of the person end within a second.</p>
          <p>This cannot be undone. To keep somebody out for a while, disable the account instead.</p>
        </ConfirmButton>
      )}
    </>
  );
}
