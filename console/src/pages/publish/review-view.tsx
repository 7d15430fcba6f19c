import { redirectUri } from '../../../../src/client/publish/plan-edge.ts';
import type { WantedEdge } from '../../../../src/client/publish/wanted-edge.ts';
import { Notice } from '../../components/notice.tsx';
import { Sentences } from '../../components/sentences.tsx';
import { StepHeading } from '../../components/step-heading.tsx';
import { urlOf } from './publish-request.ts';
import { sentencesOf } from './sentences.ts';
import { TestView } from './target-fields.tsx';
import type { TargetTest } from './test-target.ts';

interface ReviewProps {
  readonly wanted: WantedEdge;
  readonly test: TargetTest | null;
  readonly warning: string | null;
  readonly isBusy: boolean;
  readonly onBack: () => void;
  readonly onPublish: () => void;
}

export function ReviewView({ wanted, test, warning, isBusy, onBack, onPublish }: ReviewProps) {
  return (
    <section class="stack form-page" aria-label="Review">
      <StepHeading>This is what happens</StepHeading>
      <Sentences all={sentencesOf(wanted)} />
      {wanted.login !== null && wanted.login.clientId !== '' && (
        <p>
          The provider must know the redirect URI <code class="wrap-anywhere">{redirectUri(urlOf(wanted))}</code>
        </p>
      )}
      <TestView test={test} />
      {warning !== null && <Notice tone="warn">{warning}</Notice>}
      <p class="hint">All of it is one change, which can be undone.</p>
      <div class="line">
        <button type="button" onClick={onBack}>
          Back
        </button>
        <button type="button" class="primary" disabled={isBusy} onClick={onPublish}>
          Publish
        </button>
      </div>
    </section>
  );
}
