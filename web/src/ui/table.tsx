// Rows of one kind. On narrow screens the style sheet turns each into a card.
import type { ComponentChildren } from "preact";

export interface Column<Row> {
    readonly name: string;
    readonly cell: (row: Row) => ComponentChildren;
    // "number": to the right; "grow": takes what is left, cut with an ellipsis; "fixed": on one line.
    readonly kind?: "number" | "grow" | "fixed";
    // Leave out the name in front of the value on a card: the value speaks for itself.
    readonly plain?: boolean;
    // For a column of buttons or boxes, whose name is only read out.
    readonly silent?: boolean;
}

interface TableProps<Row> {
    readonly label: string;
    readonly columns: readonly Column<Row>[];
    readonly rows: readonly Row[];
    readonly row_key: (row: Row) => string;
}

export function Table<Row>({ label, columns, rows, row_key }: TableProps<Row>) {
    return (
        <table class="table" aria-label={label}>
            <thead>
                <tr>
                    {columns.map(({ name, kind, silent }) => (
                        <th key={name} scope="col" class={kind === "number" ? "number" : ""}>
                            {silent ? <span class="hush">{name}</span> : name}
                        </th>
                    ))}
                </tr>
            </thead>
            <tbody>
                {rows.map((row) => (
                    <tr key={row_key(row)}>
                        {columns.map(({ name, cell, kind, plain, silent }) => (
                            <td key={name} data-name={name} class={`${kind ?? ""}${plain || silent ? "" : " named"}`}>
                                {cell(row)}
                            </td>
                        ))}
                    </tr>
                ))}
            </tbody>
        </table>
    );
}
