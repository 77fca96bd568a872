import { HoldfastError } from '../../src/errors.js';

/** The refusal that `fn` ends with. Anything else it throws is thrown. */
export function refusal(fn: () => unknown): HoldfastError {
  try {
    fn();
  } catch (error) {
    if (error instanceof HoldfastError) return error;
    throw error;
  }
  throw new Error('Nothing was refused');
}
