import type { WantedEdge } from '../../../../src/client/publish/wanted-edge.ts';
import { isAllowed } from '../../api/scopes.ts';
import { CopyBox } from '../../components/copy-box.tsx';
import { StepHeading } from '../../components/step-heading.tsx';
import { href, navigate } from '../../router/location.ts';
import { UndoAtOnceButton } from '../changes/undo-button.tsx';
import { Invitations } from './invitations.tsx';
import { type Published, urlOf } from './publish-request.ts';
import { agentCommand } from './test-target.ts';

interface PublishedProps {
  readonly wanted: WantedEdge;
  readonly labels: string;
  readonly published: Published;
  readonly onAgain: () => void;
}

export function PublishedView({ wanted, labels, published, onAgain }: PublishedProps) {
  const { revision, edgeId, guestUrl } = published;
  const url = urlOf(wanted);
  return (
    <section class="stack form-page" aria-label="Published">
      <StepHeading>{wanted.host} is published</StepHeading>
      <p>
        <a href={url} target="_blank" rel="noreferrer">
          {url}
        </a>
      </p>
      {guestUrl !== null && (
        <>
          <p>Send this link to your guest. It is not shown again.</p>
          <CopyBox text={guestUrl} />
        </>
      )}
      {wanted.target.kind === 'agents' && (
        <p>
          Connect an agent, if none is: <code>{agentCommand(labels)}</code>
        </p>
      )}
      {wanted.login !== null && wanted.login.clientId === '' && <Invitations wanted={wanted} />}
      <div class="line">
        <a class="button" href={href(`/sites/${edgeId}`)}>
          Open the site’s page
        </a>
        <button type="button" onClick={onAgain}>
          Publish another
        </button>
        {isAllowed('changes:write') && <UndoAtOnceButton revision={revision} onUndone={() => navigate('/sites')} />}
      </div>
    </section>
  );
}
