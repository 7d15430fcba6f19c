import { asApiError } from '../../api/api-error.ts';
import { get } from '../../api/request.ts';
import { toast } from '../../components/toast.tsx';

interface Verification {
  readonly intact: boolean;
  readonly checked: number;
  readonly first_broken: number | null;
}

/** Entries are linked by a keyed hash: a changed or removed one is found. */
export function VerifyButton() {
  const verify = async (): Promise<void> => {
    try {
      const { intact, checked, first_broken } = await get<Verification>('/changes/verification');
      if (intact) toast(`The history is intact: ${checked} entries checked.`);
      else toast(`The history was changed: entry ${first_broken ?? '?'} is the first that does not fit.`, 'danger');
    } catch (failure) {
      toast(asApiError(failure).message, 'danger');
    }
  };
  return (
    <button type="button" onClick={() => void verify()}>
      Verify the history
    </button>
  );
}
