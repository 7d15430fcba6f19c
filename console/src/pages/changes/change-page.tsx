import { get } from '../../api/request.ts';
import { isAllowed } from '../../api/scopes.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import { useNames } from '../../api/use-names.ts';
import { Diff } from '../../components/diff.tsx';
import { Facts } from '../../components/facts.tsx';
import { LoadedView } from '../../components/loaded-view.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { Time } from '../../components/time.tsx';
import type { PageProps } from '../page-props.ts';
import { authorText, type Change, type ChangedObject, objectText } from './change-record.ts';
import { UndoButton } from './undo-button.tsx';

export function ChangePage({ params }: PageProps) {
  const revision = params['revision'] ?? '';
  const path = `/changes/${encodeURIComponent(revision)}`;
  const loaded = useLoaded(path, (abort) => get<Change>(path, abort));
  const names = useNames('/api_keys?limit=100', 'keys', 'api_keys:read', ['description', 'id']);
  return (
    <>
      <PageHead title={`Change ${revision}`} crumbs={[['Changes', '/changes']]}>
        {isAllowed('changes:write') && loaded.data !== null && <UndoButton revision={revision} />}
      </PageHead>
      <LoadedView loaded={loaded} what="This change">
        {(change) => (
          <>
            <section class="card" aria-label="Change">
              <div class="body">
                <Facts
                  rows={[
                    ['Who', authorText(change, names)],
                    ['When', <Time key="at" at={change.at} />],
                    ['Via', change.author.via],
                    ['Message', change.message === '' ? '–' : change.message],
                    ['Documents', String(change.count)],
                  ]}
                />
              </div>
            </section>
            {(change.objects ?? []).map((object) => (
              <ChangedDocument key={`${object.kind} ${object.module ?? ''} ${object.id}`} object={object} />
            ))}
          </>
        )}
      </LoadedView>
    </>
  );
}

function ChangedDocument({ object }: { object: ChangedObject }) {
  return (
    <section class="stack-small" aria-label={objectText(object)}>
      <div class="line">
        <h2>{objectText(object)}</h2>
        <code class="wrap-anywhere">{object.id}</code>
      </div>
      {object.changed_secrets.length > 0 && (
        <p class="muted">Changed secrets: {object.changed_secrets.join(', ')}. Their values are not kept here.</p>
      )}
      <Diff label={`Difference of ${object.id}`} before={object.before} after={object.after} />
    </section>
  );
}
