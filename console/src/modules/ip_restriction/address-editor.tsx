import { useEffect, useState } from 'preact/hooks';
import { ADDRESS_MODULE, createPolicy } from '../../../../src/client/publish/plan-parts.ts';
import { type ApiError, asApiError } from '../../api/api-error.ts';
import { refreshPendingChange } from '../../api/pending-change.ts';
import { request } from '../../api/request.ts';
import { areAllowed } from '../../api/scopes.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import type { Document } from '../../api/use-pages.ts';
import { revisionWith } from '../../api/write.ts';
import { Dialog } from '../../components/dialog.tsx';
import { PlainField } from '../../components/form/plain-field.tsx';
import { SchemaForm } from '../../components/form/schema-form.tsx';
import { LoadedView } from '../../components/loaded-view.tsx';
import { ErrorNotice } from '../../components/notice.tsx';
import { Sentences } from '../../components/sentences.tsx';
import { TrialChoice } from '../../components/trial-choice.tsx';
import { addressesIn, rangesIn, rangesProblem } from '../../format/address-ranges.ts';
import type { JsonSchema } from '../../schema/json-schema.ts';
import { plainPolicies } from './plain-policies.ts';

interface AddressEditorProps {
  readonly title: string;
  /** Path of the module in the API. */
  readonly path: string;
  readonly body: JsonSchema;
  /** "app.example.com/docs", for the description of the policy. */
  readonly place: string;
  readonly isNew: boolean;
  readonly onClose: () => void;
  readonly onSaved: () => void;
}

interface Limits {
  readonly etag: string | null;
  /** Policies whose ranges the form shows as addresses. */
  readonly plain: readonly string[];
  readonly addresses: string;
  /** What else the module has: other policies, and whether it is enabled. */
  readonly others: Readonly<Record<string, unknown>>;
}

export function canEditAddresses(): boolean {
  return areAllowed(['ip_policies:write', 'ip_policy_rules:write']);
}

/** The form of `ip_restriction` begins with addresses: the policy that the API wants is made of them. */
export function AddressEditor(props: AddressEditorProps) {
  const { title, path, isNew, onClose } = props;
  const loaded = useLoaded(`addresses of ${path}`, () => limitsOf(path, isNew));
  if (loaded.data !== null) return <AddressForm {...props} limits={loaded.data} />;
  return (
    <Dialog title={title} onClose={onClose}>
      <LoadedView loaded={loaded} what="This module">
        {() => null}
      </LoadedView>
    </Dialog>
  );
}

async function limitsOf(path: string, isNew: boolean): Promise<Limits> {
  if (isNew) return { etag: null, plain: [], addresses: '', others: {} };
  const { data, etag } = await request<Document>('GET', path);
  const policies = (data['ip_policies'] as readonly { id: string }[]).map(({ id }) => id);
  const plain = await plainPolicies(policies);
  return {
    etag,
    plain: [...plain.keys()],
    addresses: [...plain.values()].flat().join('\n'),
    others: { enabled: data['enabled'], ip_policy_ids: policies.filter((id) => !plain.has(id)) },
  };
}

function AddressForm({
  title,
  path,
  body,
  place,
  limits,
  onClose,
  onSaved,
}: AddressEditorProps & { readonly limits: Limits }) {
  const [addresses, setAddresses] = useState(limits.addresses);
  const [others, setOthers] = useState(limits.others);
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [isTried, setTried] = useState(false);
  const [confirmWithin, setConfirmWithin] = useState<string | null>(null);
  // After the dialog, which gives the focus to its first button.
  useEffect(() => document.getElementById('addresses')?.focus(), []);
  const policies = ((others['ip_policy_ids'] ?? []) as readonly string[]).filter((id) => id !== '');
  const ranges = rangesIn(addresses);
  const isOff = others['enabled'] === false;
  const none = ranges.length + policies.length === 0 && !isOff ? 'Enter at least one address or range.' : null;
  const problem = rangesProblem(addresses) ?? none;
  const isKept = addresses === limits.addresses;
  const isUnchanged = isKept && JSON.stringify(others) === JSON.stringify(limits.others);
  const save = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      const made = isKept || ranges.length === 0 ? [] : createPolicy(ranges, place, 0);
      const own = made.length > 0 ? [{ $ref: 0, field: 'id' }] : isKept ? limits.plain : [];
      const expected = limits.etag === null ? null : await revisionWith(path, limits.etag);
      await request('POST', '/changesets', {
        body: {
          operations: [...made, { method: 'PUT', path, body: { ...others, ip_policy_ids: [...own, ...policies] } }],
          message: `restrict ${place} to addresses`.slice(0, 1024),
          ...(expected !== null && { expected_revision: expected }),
          ...(confirmWithin !== null && { confirm_within: confirmWithin }),
        },
      });
      if (confirmWithin !== null) void refreshPendingChange();
      onSaved();
    } catch (failure) {
      setError(asApiError(failure));
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={title}
      isWide
      onClose={onClose}
      foot={
        <>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" form={`edit-${ADDRESS_MODULE}`} class="primary" disabled={isBusy || isUnchanged}>
            Save
          </button>
        </>
      }
    >
      {error !== null && <ErrorNotice error={error} />}
      <form
        id={`edit-${ADDRESS_MODULE}`}
        class="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          setTried(true);
          if (problem === null) void save();
          else document.getElementById('addresses')?.focus();
        }}
      >
        <PlainField
          id="addresses"
          label="Addresses and ranges"
          isLong
          placeholder={'203.0.113.0/24\n2001:db8::/32'}
          hint="One per line, or with commas. Visitors from everywhere else get 403."
          value={addresses}
          problem={isTried || addresses !== '' ? problem : null}
          onChange={setAddresses}
        />
        <details open={policies.length > 0 || isOff}>
          <summary>More</summary>
          <div class="stack-small">
            <SchemaForm schema={body} value={others} onChange={setOthers} />
          </div>
        </details>
        {problem === null && !isUnchanged && (
          <div role="status">
            <p>Once you save:</p>
            <Sentences
              all={sentencesOf(addressesIn(addresses), policies.length, {
                isOff,
                isKept: isKept || limits.plain.length === 0,
              })}
            />
          </div>
        )}
        <TrialChoice value={confirmWithin} onChange={setConfirmWithin} />
      </form>
    </Dialog>
  );
}

function sentencesOf(
  addresses: readonly string[],
  policies: number,
  { isOff, isKept }: { readonly isOff: boolean; readonly isKept: boolean },
): readonly string[] {
  if (isOff) return ['Everybody gets in, wherever they are: the module is not enabled.'];
  const who = [
    ...(addresses.length > 0 ? [addresses.join(', ')] : []),
    ...(policies > 0 ? [`the addresses of ${policies} IP ${policies === 1 ? 'policy' : 'policies'}`] : []),
  ];
  return [
    `Only visitors from ${who.join(' and ')} get in.`,
    ...(isKept ? [] : ['Other routes that used the same IP policy keep the addresses that they have.']),
  ];
}
