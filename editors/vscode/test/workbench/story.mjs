// What the agent of the drive works on: a shop's orders, file by file. Every turn asks, reads a file, and answers.

export const MODEL = { id: "claude-sonnet-4-5", contextWindow: 60_000 };

/** Files in the order they are read; the user's request about each, and what the agent found. */
const TURNS = [
  ["shop/orders.py", "Refunds of split orders come out wrong by a cent. Never touch the migrations.", "The total is right here."],
  ["shop/money.py", "Look at how amounts are rounded. Use Decimal, never float.", "Rounding happens once per line."],
  ["shop/refunds.py", "And at how a refund is split over payments.", "It divides before it rounds."],
  ["shop/payments.py", "Which payments take part in it?", "Every captured one, in order of capture."],
  ["shop/taxes.py", "Are taxes refunded line by line?", "Yes, with their own rounding."],
  ["shop/vouchers.py", "A voucher must never be refunded as money.", "It is skipped already."],
  ["shop/shipping.py", "What about shipping costs?", "They are refunded with the last line."],
  ["shop/invoices.py", "The invoice has to show the same amount.", "It reads the refund and does not count again."],
  ["shop/currency.py", "Some currencies have no cents.", "The exponent comes from the table."],
  ["shop/ledger.py", "Does the ledger balance afterwards?", "Off by the same cent."],
  ["shop/customers.py", "Who is told of a refund?", "The customer who ordered."],
  ["shop/mail.py", "The mail says the amount too.", "It takes the invoice's."],
  ["shop/stock.py", "Is stock put back?", "Only when the goods come back."],
  ["shop/returns.py", "Show me how returns begin.", "A return names its lines."],
  ["shop/carts.py", "Carts are not concerned, I think.", "They are not."],
  ["shop/prices.py", "Prices include taxes in some countries.", "Handled by the flag of the country."],
  ["shop/discounts.py", "Discounts are spread over the lines.", "By the largest remainder."],
  ["shop/webhooks.py", "The provider calls back after a refund.", "The amount is compared there."],
  ["shop/jobs.py", "Is a failed refund tried again?", "Three times, with the same key."],
  ["shop/api/orders.py", "The interface must stay as it is.", "It stays."],
  ["shop/api/refunds.py", "What does it answer?", "Amount and currency as text."],
  ["tests/test_money.py", "Are there tests for rounding?", "Two, both with even amounts."],
  ["tests/test_refunds.py", "And for split refunds?", "One, with two equal payments."],
  ["tests/test_ledger.py", "Does a test look at the ledger?", "It sums a single order."],
  ["tests/factories.py", "How are orders made in tests?", "By a factory with fixed amounts."],
  ["docs/refunds.md", "The rules are written down here.", "They say: the largest remainder."],
  ["shop/remainder.py", "Use what is there for discounts.", "It fits as it is."],
  ["shop/settlement.py", "Then change it, and write the test first.", "The test fails by one cent, as it should."],
];

/** What the tool prints of a file. */
export function textOf(file) {
  const name = file.replace(/^.*\/|\.\w+$/g, "");
  return Array.from({ length: 240 }, (_, at) => `${name}.add(Line(${at}, cents(${at})))\n`).join("");
}

/** A file that a compaction shows again, and what was written into it since the agent read it. */
export const RESTORED = "tests/test_ledger.py";
export const CHANGE = 'CENT = Decimal("0.01")';

/** Files that were read, in their order. */
export const FILES = TURNS.map(([file]) => file);

/** Messages in the `anthropic` dialect, four a turn. */
export function story() {
  return TURNS.flatMap(([file, question, answer], turn) => [
    { role: "user", content: question },
    {
      role: "assistant",
      content: [{ type: "tool_use", id: `call_${turn}`, name: "Read", input: { file_path: file } }],
    },
    { role: "user", content: [{ type: "tool_result", tool_use_id: `call_${turn}`, content: textOf(file) }] },
    { role: "assistant", content: [{ type: "text", text: answer }] },
  ]);
}
