import { useState } from 'preact/hooks';
import { useLoaded } from '../../api/use-loaded.ts';
import { ChoiceList } from '../../components/choice-list.tsx';
import { PlainField } from '../../components/form/plain-field.tsx';
import { labelsText } from '../../modules/backend/backend-text.ts';
import type { Draft, Problems, TargetKind } from './draft.ts';
import { agentCommand, labelledTunnels, type TargetTest, testTarget } from './test-target.ts';

export interface DraftProps {
  readonly draft: Draft;
  readonly problems: Problems;
  readonly onChange: (changes: Partial<Draft>) => void;
}

export function TargetFields(props: DraftProps) {
  const { draft, onChange } = props;
  const { data: tunnels } = useLoaded('labelled tunnels', labelledTunnels);
  const known = [...new Set((tunnels ?? []).map(({ labels }) => labelsText(labels)))];
  return (
    <ChoiceList<TargetKind>
      legend="Where it goes"
      name="target"
      value={draft.target}
      onChange={(target) => {
        const [only] = known;
        // Who has one set of labels means it.
        const isObvious = target === 'agents' && draft.labels === '' && known.length === 1;
        onChange({ target, ...(isObvious && only !== undefined && { labels: only }) });
      }}
      choices={[
        {
          value: 'address',
          name: 'An address',
          hint: 'A service that this server reaches by itself.',
          fields: <AddressField {...props} />,
        },
        {
          value: 'agents',
          name: 'An agent’s tunnel',
          hint: 'A service elsewhere, also behind NAT, whose agent connects to this server.',
          fields: <AgentsField {...props} known={known} />,
        },
        {
          value: 'folder',
          name: 'A folder',
          hint: 'Files on the machine of this server. Its setting file_roots must list the folder or one above it.',
          fields: (
            <PlainField
              id="publish-folder"
              label="Folder"
              placeholder="/srv/www"
              value={draft.folder}
              problem={props.problems.folder ?? null}
              onChange={(folder) => onChange({ folder })}
            />
          ),
        },
        {
          value: 'page',
          name: 'A fixed page',
          hint: 'The same text for everybody, such as “We are back at noon.”',
          fields: (
            <>
              <PlainField
                id="publish-page"
                label="Text or HTML of the page"
                isLong
                value={draft.page}
                problem={props.problems.page ?? null}
                onChange={(page) => onChange({ page })}
              />
              <PlainField
                id="publish-status"
                label="Status"
                hint="200 for a page that is there, 404 for one that is not, 503 while you work on it."
                value={draft.status}
                problem={props.problems.status ?? null}
                onChange={(status) => onChange({ status })}
              />
            </>
          ),
        },
      ]}
    />
  );
}

function AddressField({ draft, problems, onChange }: DraftProps) {
  const [result, setResult] = useState<{ address: string; test: TargetTest } | null>(null);
  const run = async (): Promise<void> => {
    const test = await testTarget(draft);
    if (test !== null) setResult({ address: draft.address, test });
  };
  const shown = result?.address === draft.address ? result.test : null;
  return (
    <>
      <PlainField
        id="publish-address"
        label="Address"
        placeholder="127.0.0.1:3000"
        hint="host:port, a port of this machine such as 3000, or a URL such as https://web:8443"
        value={draft.address}
        problem={problems.address ?? null}
        onChange={(address) => onChange({ address })}
        beside={
          <button type="button" disabled={problems.address !== undefined} onClick={() => void run()}>
            Test
          </button>
        }
      />
      <TestView test={shown} />
    </>
  );
}

function AgentsField({ draft, problems, onChange, known }: DraftProps & { known: readonly string[] }) {
  return (
    <>
      <PlainField
        id="publish-labels"
        label="Labels of the tunnel"
        placeholder="app=shop"
        hint={known.length === 0 ? 'No agent with labels is connected now.' : `Connected now: ${known.join('; ')}`}
        choices={known}
        value={draft.labels}
        problem={problems.labels ?? null}
        onChange={(labels) => onChange({ labels })}
      />
      <p class="hint">
        On the machine of the service: <code>{agentCommand(draft.labels)}</code>
      </p>
    </>
  );
}

export function TestView({ test }: { test: TargetTest | null }) {
  return (
    <p role="status" class={test === null ? 'hidden-text' : test.isReachable ? 'verdict ok' : 'verdict warn'}>
      {test?.text}
    </p>
  );
}
