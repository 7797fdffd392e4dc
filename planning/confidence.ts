/**
 * What a sample says about all it was drawn from.
 *
 * Of N windows n are compared, drawn at random and none twice, and x differ. If K of all differed, the chance to see no
 * more than x of them is hypergeometric, p(x, K) = sum over j <= x of C(K, j) C(N - K, n - j) / C(N, n). The upper
 * limit at confidence 1 - a is the largest K with p(x, K) >= a: more would have shown itself, save with a chance below
 * a. For x = 0 and n small against N that is the rule of three, K / N = 3 / n at 95 %.
 *
 * Sources: B. D. Jovanovic and P. S. Levy, A Look at the Rule of Three, The American Statistician 51 (1997), 137-139;
 * for a finite population,
 * https://stats.stackexchange.com/questions/193103/probability-of-failure-in-a-finite-population
 */

export interface Sample {
  /** All there are. */
  readonly windows: number;
  /** Of those, how many were compared. */
  readonly compared: number;
  /** Of the compared, how many differ. */
  readonly differing: number;
}

/** On the edge the larger limit is the one to state. */
const rounding = 1 - 1e-9;

/**
 * The most windows of all that may differ, with the given confidence, such as 0.95.
 *
 * @throws RangeError for counts that no sample can have.
 */
export function mostDiffering(sample: Sample, confidence: number): number {
  const { windows, compared, differing } = sample;
  if (
    !(differing >= 0 && differing <= compared && compared <= windows) ||
    !(confidence > 0 && confidence < 1)
  )
    throw new RangeError(`no sample: ${JSON.stringify(sample)} at ${confidence}`);
  // Those that were compared and do not differ are known.
  let most = windows - (compared - differing);
  let least = differing;
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    if (chanceOfAtMost(sample, middle) >= (1 - confidence) * rounding) least = middle;
    else most = middle - 1;
  }
  return least;
}

/** Chance that of `windows`, `all` of which differ, a sample of `compared` shows at most `differing`. */
function chanceOfAtMost({ windows, compared, differing }: Sample, all: number): number {
  const fewest = Math.max(0, compared - (windows - all));
  let chance = 0;
  for (let seen = fewest; seen <= Math.min(differing, all); seen += 1) {
    chance += Math.exp(
      logChoose(all, seen) + logChoose(windows - all, compared - seen) - logChoose(windows, compared),
    );
  }
  return chance;
}

function logChoose(n: number, k: number): number {
  return logFactorial(n) - logFactorial(k) - logFactorial(n - k);
}

/** Stirling's series; exact sums below, where it is not good to twelve digits. */
function logFactorial(n: number): number {
  if (n < 30) {
    let sum = 0;
    for (let factor = 2; factor <= n; factor += 1) sum += Math.log(factor);
    return sum;
  }
  return n * Math.log(n) - n + Math.log(2 * Math.PI * n) / 2 + 1 / (12 * n) - 1 / (360 * n ** 3);
}
