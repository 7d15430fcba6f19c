import { useId, useState } from 'preact/hooks';
import { request } from '../../api/request.ts';
import type { Document } from '../../api/use-pages.ts';
import { ActionDialog } from '../../components/action-dialog.tsx';
import { SecretOnce } from '../../components/secret-once.tsx';
import { invitationShown, type ShownOnce } from '../../components/shown-once.tsx';
import { textAt } from '../../format/text.ts';
import { personName } from './person-name.ts';

interface InviteButtonProps {
  readonly path: string;
  readonly account: Document;
  readonly onDone: () => void;
}

type Step = { readonly name: 'closed' | 'question' } | { readonly name: 'link'; readonly shown: ShownOnce };

/** Makes a new link, for a person who lost the first one or all their devices. */
export function InviteButton({ path, account, onDone }: InviteButtonProps) {
  const [step, setStep] = useState<Step>({ name: 'closed' });
  const close = (): void => {
    if (step.name === 'link') onDone();
    setStep({ name: 'closed' });
  };
  const name = personName(account).slice(0, 80);
  return (
    <>
      <button type="button" onClick={() => setStep({ name: 'question' })}>
        Invite again
      </button>
      {step.name === 'question' && (
        <InviteQuestion
          name={name}
          hasPasskeys={account['passkey_count'] !== 0}
          onClose={close}
          invite={async (removesPasskeys) => {
            const { data } = await request<Document>('POST', `${path}/invite`, {
              body: { remove_passkeys: removesPasskeys },
            });
            setStep({ name: 'link', shown: invitationShown(textAt(data, 'invitation_url'), data) });
          }}
        />
      )}
      {step.name === 'link' && (
        <SecretOnce title={`Invitation link of ${name}: shown only now`} shown={step.shown} onClose={close} />
      )}
    </>
  );
}

interface InviteQuestionProps {
  readonly name: string;
  readonly hasPasskeys: boolean;
  readonly onClose: () => void;
  readonly invite: (removesPasskeys: boolean) => Promise<void>;
}

function InviteQuestion({ name, hasPasskeys, onClose, invite }: InviteQuestionProps) {
  const [removesPasskeys, setRemoves] = useState(false);
  const id = useId();
  return (
    <ActionDialog
      title={`Invite ${name} again?`}
      name="Make a new link"
      isDanger={removesPasskeys}
      act={() => invite(removesPasskeys)}
      onClose={onClose}
    >
      <p>The person gets a new link, with which they register one more passkey. An earlier link no longer works.</p>
      {hasPasskeys && (
        <div class="field">
          <div class="check">
            <input
              id={id}
              type="checkbox"
              checked={removesPasskeys}
              aria-describedby={`${id}-hint`}
              onChange={(event) => setRemoves(event.currentTarget.checked)}
            />
            <label for={id}>Remove passkeys</label>
          </div>
          <span class="hint" id={`${id}-hint`}>
            For a person who lost a device: all their passkeys and logins end now.
          </span>
        </div>
      )}
    </ActionDialog>
  );
}
