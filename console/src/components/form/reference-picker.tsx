import { get } from '../../api/request.ts';
import { isAllowed } from '../../api/scopes.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import type { Document } from '../../api/use-pages.ts';
import { textAt } from '../../format/text.ts';
import { documentName } from '../../schema/document-name.ts';
import { typeOfKind } from '../../schema/resource-types.ts';

interface ReferencePickerProps {
  readonly id: string;
  readonly label?: string;
  readonly kinds: readonly string[];
  readonly value: string;
  readonly isRequired?: boolean;
  readonly onChange: (id: string) => void;
}

interface Choice {
  readonly id: string;
  readonly text: string;
}

/** An id, typed or chosen by name. The newest hundred of each kind are offered; any other id can be pasted. */
export function ReferencePicker({ id, label, kinds, value, isRequired = false, onChange }: ReferencePickerProps) {
  const { data } = useLoaded(`choices ${kinds.join()}`, (abort) => choicesOf(kinds, abort));
  const chosen = data?.find((each) => each.id === value);
  return (
    <>
      <input
        id={id}
        list={`${id}-choices`}
        {...(label !== undefined && { 'aria-label': label })}
        autocomplete="off"
        spellcheck={false}
        required={isRequired}
        placeholder={data?.length === 0 ? 'none exist yet: paste an id, or create one first' : 'choose, or paste an id'}
        value={value}
        onInput={(event) => onChange(event.currentTarget.value.trim())}
      />
      <datalist id={`${id}-choices`}>
        {data?.map((each) => (
          <option key={each.id} value={each.id}>
            {each.text}
          </option>
        ))}
      </datalist>
      {chosen !== undefined && <span class="hint">{chosen.text}</span>}
    </>
  );
}

async function choicesOf(kinds: readonly string[], abort: AbortSignal): Promise<readonly Choice[]> {
  const lists = kinds.map(async (kind): Promise<readonly Choice[]> => {
    const type = typeOfKind(kind);
    if (type === undefined || type.list.path.includes('{') || !type.list.scopes.every(isAllowed)) return [];
    const page = await get<Record<string, Document[]>>(`${type.list.path}?limit=100`, abort);
    return (page[type.listKey] ?? []).map((each) => ({
      id: textAt(each, 'id'),
      text: `${documentName(each).slice(0, 80)} – ${type.title.toLowerCase()}`,
    }));
  });
  return (await Promise.all(lists)).flat();
}
